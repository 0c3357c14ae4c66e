//! Reconciles one cluster: accepts its spec, keeps the Machines of its control plane, and runs the flow that is due.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use jiff::Timestamp;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use outrigger_api::cluster::{self, Cluster, ClusterPhase, ClusterType};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::machine::{self, Machine, MachinePhase, MachineRole, MachineStatus};
use outrigger_api::step::FlowName;
use outrigger_cluster::lifecycle::{self, Next, Run};
use outrigger_cluster::{Claim, Inputs, Provider, from_status, status};
use outrigger_flow::{Pass, Records, State, Target, Task, Versioned, WriteError};
use outrigger_node::Tree;

use super::executor::Attempts;
use super::objects::{set_finalizer, write_spec, write_status};
use super::store::{Objects, SharedObjects, StatusStore};
use super::{ClusterOptions, Observed, delegations, tree};
use crate::conditions::format_time;
use crate::context::Context;
use crate::events::PluginEvent;

/// When a cluster is reconciled again after a write failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Flows that can follow each other in one reconcile.
const MAX_FLOWS: usize = 8;
/// The reason of the condition `Accepted` while the files of a cluster are read.
const READING_FILES: &str = "ReadingFiles";
const MAX_REQUESTS: usize = 32;

/// What a reconcile did.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) clusters: Vec<Arc<Cluster>>,
    pub(crate) machines: Vec<Arc<Machine>>,
    pub(crate) requeue_at: Option<Instant>,
}

/// Why a reconcile ended early.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("{0}")]
    Write(WriteError),
}

/// Reconciles a cluster and its machines.
pub(crate) async fn run(ctx: Arc<Context>, options: ClusterOptions, observed: Observed) -> Outcome {
    let name = observed.name.clone();
    let mut reconcile = Reconcile::new(ctx, options, observed);
    if let Err(error) = reconcile.reconcile().await {
        tracing::debug!(cluster = name, error = %error, "reconcile is repeated");
        reconcile.requeue_after(RETRY_DELAY);
    }
    reconcile.finish()
}

struct Reconcile {
    ctx: Arc<Context>,
    options: ClusterOptions,
    observed: Observed,
    machines: HashMap<String, Arc<Machine>>,
    /// The names of machines of the control plane that others have, and why they cannot be used.
    taken_names: BTreeMap<String, String>,
    requeue_at: Option<Instant>,
}

impl Reconcile {
    fn new(ctx: Arc<Context>, options: ClusterOptions, observed: Observed) -> Self {
        let machines = observed.machines.iter();
        let machines = machines.map(|machine| (machine.name_any(), Arc::clone(machine)));
        Self {
            machines: machines.collect(),
            taken_names: BTreeMap::new(),
            ctx,
            options,
            observed,
            requeue_at: None,
        }
    }

    fn finish(self) -> Outcome {
        Outcome {
            clusters: self.observed.cluster.into_iter().collect(),
            machines: self.machines.into_values().collect(),
            requeue_at: self.requeue_at,
        }
    }

    fn requeue_after(&mut self, delay: Duration) {
        let at = Instant::now() + delay;
        self.requeue_at = Some(self.requeue_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn now(&self) -> Timestamp {
        (self.ctx.options.now)()
    }

    async fn reconcile(&mut self) -> Result<(), Error> {
        let Some(cluster) = self.observed.cluster.clone() else {
            return self.release_orphans().await;
        };
        let is_deleted = lifecycle::is_deleted(&cluster);
        let has_finalizer = cluster
            .finalizers()
            .iter()
            .any(|it| it == cluster::FINALIZER);
        if is_deleted && !has_finalizer {
            return Ok(());
        }
        if !is_deleted
            && let Some(written) = set_finalizer(&self.ctx.client, &*cluster, true).await?
        {
            self.observed.cluster = Some(Arc::new(written));
        }
        let is_untouched = cluster.spec.kind == ClusterType::Baremetal && !self.has_begun();
        if is_deleted && (is_untouched || lifecycle::is_forced(&cluster)) {
            return self.release().await;
        }
        let (tree, provider) = match self.accept(&cluster).await {
            Ok(accepted) => accepted,
            Err((READING_FILES, message)) => return self.wait_for_files(&message).await,
            Err((reason, message)) => return self.refuse(reason, &message).await,
        };
        if !is_deleted && self.sync_control_plane().await? {
            // Whether other clusters claim the machines is known when the watch reports them.
            return Ok(());
        }
        self.report_conflicts().await?;
        self.release_forced_machines().await?;
        if let Some(message) = self.obstacle(&cluster) {
            return self.refuse("MachineRefused", &message).await;
        }
        self.write_accepted().await?;
        self.run_flows(&tree, &provider).await
    }

    fn cluster(&self) -> Arc<Cluster> {
        let cluster = self.observed.cluster.clone();
        cluster.expect("only called while the cluster exists")
    }

    /// Checks everything that can be checked before a machine is touched.
    async fn accept(
        &self,
        cluster: &Cluster,
    ) -> Result<(Tree, Arc<dyn Provider>), (&'static str, String)> {
        let mut errors = cluster::validate(cluster);
        if !is_accepted(cluster) {
            let machines = cluster.spec.machines.iter().enumerate();
            errors.extend(machines.flat_map(|(index, access)| {
                outrigger_cluster::check_access(access, &format!("spec.machines[{index}]"))
            }));
        }
        if !errors.is_empty() {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Err(("Invalid", errors.join("; ")));
        }
        let machines = self.all();
        if let Some(reason) = lifecycle::refused_downgrade(cluster, &machines) {
            return Err(("Downgrade", format!("spec.version: {reason}")));
        }
        let provider = self.options.providers.find(cluster);
        let provider =
            provider.map_err(|message| ("Invalid", format!("spec.provider: {message}")))?;
        if let Some(reason) = provider.refused_version(cluster) {
            return Err(("VersionSkew", format!("spec.version: {reason}")));
        }
        if let Some(reason) = provider.refused_machines(cluster, &machines) {
            return Err(("ControlPlane", format!("spec.machines: {reason}")));
        }
        let missing = provider.missing(cluster);
        if !missing.is_empty() {
            let message = format!("provider {} lacks {}", provider.name(), missing.join(", "));
            return Err(("ProviderIncomplete", message));
        }
        let root = self.options.files.as_deref();
        // A new flow begins with the files as they are now.
        let is_new = lifecycle::current_run(cluster).is_none() || lifecycle::is_completed(cluster);
        let tree = self.observed.runs.tree.get(cluster, root, is_new).await;
        let tree = tree.map_err(|error| match error {
            tree::Error::Reading(_) => (READING_FILES, error.to_string()),
            _ => ("FilesInvalid", error.to_string()),
        })?;
        let hooks = cluster.spec.features.hooks.iter();
        for (hook, path) in hooks {
            if tree.digest_of(path).is_none() {
                let message = format!("spec.features.hooks.{hook}: {path} is not among the files");
                return Err(("FilesInvalid", message));
            }
        }
        Ok((tree, provider))
    }

    /// Reports that the files are being read. What is removed without them is not held up.
    async fn wait_for_files(&mut self, message: &str) -> Result<(), Error> {
        let cluster = self.cluster();
        let now = format_time(self.now());
        let reason = (READING_FILES, message);
        let undecided = status::undecided(&cluster, &self.all(), reason, &now);
        self.write_cluster_status(&undecided).await?;
        self.requeue_after(Duration::from_secs(1));
        Ok(())
    }

    /// Reports why nothing is done. Files may be added later, so that is checked again.
    async fn refuse(&mut self, reason: &str, message: &str) -> Result<(), Error> {
        let cluster = self.cluster();
        if lifecycle::is_deleted(&cluster) && !self.has_begun() {
            return self.release().await;
        }
        let now = format_time(self.now());
        let refused = status::refused(&cluster, &self.all(), (reason, message), &now);
        self.write_cluster_status(&refused).await?;
        if !["Invalid", "Downgrade", "VersionSkew", "ControlPlane"].contains(&reason) {
            self.requeue_after(Duration::from_secs(10));
        }
        Ok(())
    }

    /// All machines of the cluster.
    fn all(&self) -> Vec<&Machine> {
        self.machines.values().map(AsRef::as_ref).collect()
    }

    /// Whether anything was done on a machine.
    fn has_begun(&self) -> bool {
        let mut machines = self.machines.values();
        machines.any(|machine| lifecycle::has_begun(machine))
    }

    async fn write_accepted(&mut self) -> Result<(), Error> {
        let cluster = self.cluster();
        let accepted = status::accepted(&cluster, &format_time(self.now()));
        self.write_cluster_status(&accepted).await
    }

    async fn write_cluster_status(&mut self, new: &cluster::ClusterStatus) -> Result<(), Error> {
        let cluster = self.cluster();
        if let Some(written) = write_status(&self.ctx.client, &*cluster, new).await? {
            self.emit_phase(&cluster, new);
            self.observed.cluster = Some(Arc::new(written));
        }
        Ok(())
    }

    async fn write_machine_status(
        &mut self,
        machine: &Machine,
        new: &MachineStatus,
    ) -> Result<(), Error> {
        if let Some(written) = write_status(&self.ctx.client, machine, new).await? {
            self.machines.insert(written.name_any(), Arc::new(written));
        }
        Ok(())
    }

    /// Creates, changes and deletes the Machines of the control plane. Returns whether it did.
    async fn sync_control_plane(&mut self) -> Result<bool, Error> {
        let mut has_changed = false;
        let cluster = self.cluster();
        let api: Api<Machine> = Api::all(self.ctx.client.clone());
        let mut desired = BTreeMap::new();
        for access in &cluster.spec.machines {
            let machine = outrigger_cluster::control_plane_machine(&cluster, access);
            desired.insert(machine.name_any(), machine);
        }
        for (name, machine) in &desired {
            match self.machines.get(name) {
                None => has_changed |= self.create_machine(&api, machine).await?,
                Some(known) if is_owned(known, &cluster) && known.spec != machine.spec => {
                    let mut changed = Machine::clone(known);
                    changed.spec = machine.spec.clone();
                    let written = write_spec(&self.ctx.client, &changed).await?;
                    self.machines.insert(name.clone(), Arc::new(written));
                    has_changed = true;
                }
                Some(known) if !is_owned(known, &cluster) => {
                    let refusal = name_refusal(known, &cluster);
                    self.taken_names.insert(name.clone(), refusal);
                }
                Some(_) => {}
            }
        }
        let removed = self.machines.values().filter(|machine| {
            is_owned(machine, &cluster)
                && !desired.contains_key(&machine.name_any())
                && !lifecycle::is_removed(machine)
        });
        let removed: Vec<String> = removed.map(|machine| machine.name_any()).collect();
        for name in removed {
            delete(&api, &name).await?;
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// Creates a Machine of the control plane. Returns whether it exists then.
    async fn create_machine(
        &mut self,
        api: &Api<Machine>,
        machine: &Machine,
    ) -> Result<bool, Error> {
        match api.create(&PostParams::default(), machine).await {
            Err(kube::Error::Api(reply)) if reply.code == 409 => {}
            result => return Ok(result.map(|_| true)?),
        }
        let name = machine.name_any();
        let cluster = self.cluster();
        let existing = api.get_opt(&name).await?;
        let Some(other) = existing.filter(|it| !is_owned(it, &cluster)) else {
            return Ok(true);
        };
        let refusal = name_refusal(&other, &cluster);
        self.taken_names.insert(name, refusal);
        Ok(false)
    }

    /// Reports machines that cannot take part.
    async fn report_conflicts(&mut self) -> Result<(), Error> {
        let machines: Vec<Arc<Machine>> = self.machines.values().cloned().collect();
        for machine in machines {
            let Some(message) = self.refusal(&machine) else {
                continue;
            };
            let now = format_time(self.now());
            let refused = status::refused_machine(&machine, &message, &now);
            self.write_machine_status(&machine, &refused).await?;
        }
        Ok(())
    }

    /// Why a machine cannot take part in flows.
    fn refusal(&self, machine: &Machine) -> Option<String> {
        if let Some(refusal) = self.ownership_refusal(machine) {
            return Some(refusal);
        }
        if let Some(refusal) = address_refusal(machine) {
            return Some(refusal);
        }
        let claim = self.observed.conflicts.get(&machine.name_any());
        let mut invalid = machine::validate(machine);
        if !lifecycle::has_begun(machine) {
            invalid.extend(outrigger_cluster::check_access(
                &machine.spec.access,
                "spec",
            ));
        }
        let invalid = invalid.first().map(ToString::to_string);
        claim.map(Claim::to_string).or(invalid)
    }

    /// Why a machine cannot be one of the control plane: only those that the controller creates are. One that is removed
    /// is cleaned up, if something was done on it.
    fn ownership_refusal(&self, machine: &Machine) -> Option<String> {
        if lifecycle::is_removed(machine) {
            return None;
        }
        let name = machine.name_any();
        if let Some(refusal) = self.taken_names.get(&name) {
            return Some(refusal.clone());
        }
        let cluster = self.observed.cluster.as_deref()?;
        let is_foreign =
            machine.spec.role == MachineRole::ControlPlane && !is_owned(machine, cluster);
        is_foreign.then(|| {
            "the control plane has only the machines of spec.machines of the cluster; delete this one"
                .to_owned()
        })
    }

    async fn release_forced_machines(&mut self) -> Result<(), Error> {
        let machines: Vec<Arc<Machine>> = self.machines.values().cloned().collect();
        for machine in machines {
            let is_forced = lifecycle::is_machine_forced(&machine);
            let is_untouched = !lifecycle::has_begun(&machine);
            if lifecycle::is_removed(&machine) && (is_forced || is_untouched) {
                self.release_machine(&machine).await?;
            }
        }
        Ok(())
    }

    async fn release_machine(&mut self, machine: &Machine) -> Result<(), Error> {
        match set_finalizer(&self.ctx.client, machine, false).await {
            Err(kube::Error::Api(reply)) if reply.code == 404 => {}
            result => drop(result?),
        }
        self.machines.remove(&machine.name_any());
        self.ctx.identities.forget(&machine.name_any());
        Ok(())
    }

    /// Machines of a cluster that does not exist.
    async fn release_orphans(&mut self) -> Result<(), Error> {
        let machines: Vec<Arc<Machine>> = self.machines.values().cloned().collect();
        for machine in machines {
            if lifecycle::is_removed(&machine) {
                self.release_machine(&machine).await?;
                continue;
            }
            let mut waiting = machine.status.clone().unwrap_or_default();
            waiting.phase = MachinePhase::Pending;
            waiting.message = format!("cluster {} does not exist", self.observed.name);
            self.write_machine_status(&machine, &waiting).await?;
        }
        Ok(())
    }

    /// Lets the objects of a deleted cluster go.
    async fn release(&mut self) -> Result<(), Error> {
        let api: Api<Machine> = Api::all(self.ctx.client.clone());
        let machines: Vec<Arc<Machine>> = self.machines.values().cloned().collect();
        for machine in machines {
            if !lifecycle::is_removed(&machine) {
                delete(&api, &machine.name_any()).await?;
                let current = api.get_opt(&machine.name_any()).await?;
                if let Some(current) = current {
                    self.release_machine(&current).await?;
                }
                continue;
            }
            self.release_machine(&machine).await?;
        }
        let cluster = self.cluster();
        set_finalizer(&self.ctx.client, &*cluster, false).await?;
        self.observed.cluster = None;
        Ok(())
    }

    async fn run_flows(&mut self, tree: &Tree, provider: &Arc<dyn Provider>) -> Result<(), Error> {
        for _ in 0..MAX_FLOWS {
            let cluster = self.cluster();
            let machines = self.eligible();
            let machines: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
            let current = lifecycle::current_run(&cluster);
            let outcome = current.map(|run| {
                if lifecycle::is_completed(&cluster) {
                    outrigger_flow::Outcome::Done
                } else {
                    self.outcome(tree, provider.as_ref(), run)
                }
            });
            let run = match lifecycle::next(&cluster, &machines, outcome.as_ref()) {
                Next::Run(run) => run,
                Next::Release => return self.release().await,
                Next::Idle => return self.write_idle().await,
            };
            let (inputs, pass) = self.pass(tree, provider, run).await?;
            self.settle(&inputs, &pass.outcome).await?;
            if pass.outcome != outrigger_flow::Outcome::Done {
                self.wake(pass.wake);
                return Ok(());
            }
        }
        self.requeue_after(Duration::ZERO);
        Ok(())
    }

    /// The machines that can take part in flows.
    fn eligible(&self) -> Vec<Arc<Machine>> {
        let machines = self.machines.values();
        let machines = machines.filter(|machine| self.refusal(machine).is_none());
        machines.cloned().collect()
    }

    /// Why no flow can run: creating the cluster needs all machines of the control plane, and later ones their names.
    fn obstacle(&self, cluster: &Cluster) -> Option<String> {
        if lifecycle::is_deleted(cluster) {
            return None;
        }
        let is_created = lifecycle::installed_version(cluster).is_some();
        let machines = self.machines.iter().filter(|_| !is_created);
        let refused = machines.filter_map(|(name, machine)| {
            let is_needed = is_owned(machine, cluster);
            Some((name, self.refusal(machine).filter(|_| is_needed)?))
        });
        let taken = self.taken_names.iter();
        let taken = taken.map(|(name, refusal)| (name, refusal.clone()));
        // The same one each time, so that the status does not change.
        let (name, refusal) = refused.chain(taken).min()?;
        Some(format!("{name}: {refusal}"))
    }

    fn inputs(&self, tree: &Tree, provider: &dyn Provider, run: Run) -> Inputs {
        let cluster = self.cluster();
        let machines = self.eligible();
        let machines: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
        let participants = lifecycle::participants(run.flow, &cluster, &machines);
        Inputs::new(&cluster, &participants, tree, provider, run)
    }

    /// Where the current flow stands, by what is stored.
    fn outcome(&self, tree: &Tree, provider: &dyn Provider, run: Run) -> outrigger_flow::Outcome {
        let inputs = self.inputs(tree, provider, run);
        let records: Records = self
            .records()
            .into_iter()
            .map(|(target, ((), record))| (target, record))
            .collect();
        let identity = self.ctx.identity(&self.options);
        let identity = outrigger_flow::Identity {
            is_exclusive: true,
            ..identity
        };
        let desired = inputs.desired();
        outrigger_flow::plan(&inputs.flow, &desired, &records, &[], &identity, self.now()).outcome
    }

    /// The records of the cluster and of all its machines.
    fn records(&self) -> Versioned<()> {
        let cluster = self.cluster();
        let flow = cluster.status.as_ref().and_then(|it| it.flow.as_ref());
        let mut records = Versioned::new();
        if let Some(flow) = flow {
            records.insert(Target::Cluster, ((), from_status(flow)));
        }
        for (name, machine) in &self.machines {
            let flow = machine.status.as_ref().and_then(|it| it.flow.as_ref());
            if let Some(flow) = flow {
                records.insert(Target::Machine(name.clone()), ((), from_status(flow)));
            }
        }
        records
    }

    async fn pass(
        &mut self,
        tree: &Tree,
        provider: &Arc<dyn Provider>,
        run: Run,
    ) -> Result<(Inputs, Pass<()>), Error> {
        let inputs = self.inputs(tree, provider.as_ref(), run);
        self.add_machine_finalizers(&inputs).await?;
        let cluster = self.cluster();
        let objects = SharedObjects::new(Objects {
            cluster: Arc::clone(&cluster),
            machines: self.machines.clone(),
        });
        let runs = Arc::clone(&self.observed.runs);
        let attempts = self.attempts(tree, provider, objects.clone(), &inputs.run);
        let store = StatusStore::new(self.ctx.client.clone(), &runs, &inputs, objects);
        let records = self.records();
        let recorded = delegations::record(&inputs, &store, records, self.now());
        let (records, errors) = recorded.await;
        let mut runner = runs.runner.lock().await;
        for (attempt, result) in runs.take_ended() {
            runner.report(attempt, result);
        }
        let now = self.ctx.options.now;
        let desired = inputs.desired();
        let pass = runner.pass(&inputs.flow, &desired, records, (&store, &attempts), now);
        let mut pass = Box::pin(pass).await;
        drop(runner);
        pass.errors.extend(errors);
        let objects = store.into_objects();
        self.observed.cluster = Some(objects.cluster);
        self.machines = objects.machines;
        self.log(&pass);
        match pass.errors.first() {
            Some((_, error)) => Err(Error::Write(error.clone())),
            None => Ok((inputs, pass)),
        }
    }

    fn attempts(
        &self,
        tree: &Tree,
        provider: &Arc<dyn Provider>,
        objects: SharedObjects,
        run: &Run,
    ) -> Attempts {
        let cluster = self.cluster();
        let cluster = Arc::new(lifecycle::at_run(&cluster, run).into_owned());
        let eligible = self.eligible();
        let machines: Vec<&Machine> = eligible.iter().map(AsRef::as_ref).collect();
        let control_planes = lifecycle::control_planes(&cluster, &machines);
        Attempts {
            ctx: Arc::clone(&self.ctx),
            runs: Arc::clone(&self.observed.runs),
            connect: Arc::clone(&self.options.connect),
            control_planes: control_planes.iter().map(|it| it.name_any()).collect(),
            objects,
            tree: tree.clone(),
            provider: Arc::clone(provider),
            namespace: self.options.namespace.clone(),
            cluster,
            recorded: self.observed.recorded.clone(),
        }
    }

    /// Keeps machines until they are cleaned up, before anything is done on them.
    async fn add_machine_finalizers(&mut self, inputs: &Inputs) -> Result<(), Error> {
        let names: Vec<String> = inputs.desired().machines.to_vec();
        let machines = names.iter().filter_map(|name| self.machines.get(name));
        let machines = machines.filter(|machine| !lifecycle::is_removed(machine));
        let client = &self.ctx.client;
        let writes: Vec<_> = machines
            .filter(|machine| {
                machine
                    .finalizers()
                    .iter()
                    .all(|it| it != machine::FINALIZER)
            })
            .map(|machine| set_finalizer(client, machine.as_ref(), true))
            .collect();
        let written: Vec<_> = futures::stream::iter(writes)
            .buffer_unordered(MAX_REQUESTS)
            .collect()
            .await;
        for written in written {
            if let Some(written) = written? {
                self.machines.insert(written.name_any(), Arc::new(written));
            }
        }
        Ok(())
    }

    /// Writes where the flow stands, and lets machines go that are removed.
    async fn settle(
        &mut self,
        inputs: &Inputs,
        outcome: &outrigger_flow::Outcome,
    ) -> Result<(), Error> {
        if inputs.run.flow == FlowName::ScaleDown {
            self.release_removed(inputs).await?;
        }
        if !matches!(outcome, outrigger_flow::Outcome::Held(_)) {
            self.write_recorded(Some(inputs)).await?;
        }
        let cluster = self.cluster();
        let new = status::after_pass(&cluster, &self.all(), inputs, outcome);
        self.write_cluster_status(&new).await
    }

    /// Writes the status of a cluster of which no flow is due, and of its machines.
    async fn write_idle(&mut self) -> Result<(), Error> {
        self.write_recorded(None).await?;
        let cluster = self.cluster();
        let new = status::idle(&cluster, &self.all());
        self.write_cluster_status(&new).await
    }

    /// Writes the status of the machines that differs from what is recorded: the spec was changed, or somebody else wrote it.
    async fn write_recorded(&mut self, inputs: Option<&Inputs>) -> Result<(), Error> {
        let runs = Arc::clone(&self.observed.runs);
        let cluster = self.cluster();
        let run = inputs.map(|inputs| inputs.run.id.clone());
        let machines = self.eligible();
        let all: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
        let kept = lifecycle::kept(&cluster, &all).map(ResourceExt::name_any);
        for machine in machines {
            let seen = |machine: &Machine| {
                let version = machine.resource_version();
                (version, cluster.metadata.generation, run.clone())
            };
            let name = machine.name_any();
            if runs.was_checked(&name, &seen(&machine)) {
                continue;
            }
            let is_kept = kept.as_ref() == Some(&name);
            let recorded = status::recorded_machine(&cluster, &machine, inputs, is_kept);
            self.write_machine_status(&machine, &recorded).await?;
            if let Some(machine) = self.machines.get(&name) {
                runs.set_checked(&name, seen(machine));
            }
        }
        Ok(())
    }

    async fn release_removed(&mut self, inputs: &Inputs) -> Result<(), Error> {
        let records = self.records();
        let machines: Vec<Arc<Machine>> = self.machines.values().cloned().collect();
        for machine in machines {
            let target = Target::Machine(machine.name_any());
            let record = records.get(&target).map(|((), record)| record);
            let is_finished = record.is_some_and(|record| inputs.is_finished(&target, record));
            if lifecycle::is_removed(&machine) && is_finished {
                self.release_machine(&machine).await?;
            }
        }
        Ok(())
    }

    fn wake(&mut self, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        let delay = at.duration_since(self.now());
        let delay = Duration::try_from(delay).unwrap_or(Duration::ZERO);
        // The clock of a deadline is coarser than that of the queue.
        self.requeue_after(delay + Duration::from_millis(5));
    }

    /// Records an event about the object that a step belongs to.
    fn emit_step(&self, task: &Task, reason: &'static str, message: &str) {
        let event = PluginEvent::warning(reason, format!("{}: {message}", task.step));
        let recorder = &self.ctx.recorder;
        match &task.target {
            Target::Cluster => recorder.emit(self.cluster().as_ref(), event),
            Target::Machine(name) => {
                if let Some(machine) = self.machines.get(name) {
                    recorder.emit(machine.as_ref(), event);
                }
            }
        }
    }

    /// Records an event if the phase of the cluster changes.
    fn emit_phase(&self, cluster: &Cluster, new: &cluster::ClusterStatus) {
        let before = cluster.status.as_ref().map(|status| status.phase);
        let event = match new.phase {
            phase if before == Some(phase) => return,
            ClusterPhase::Failed => PluginEvent::warning("Failed", &new.message),
            ClusterPhase::Running => {
                let version = new.version.as_deref().unwrap_or_default();
                PluginEvent::normal("Running", format!("version {version}"))
            }
            _ => return,
        };
        self.ctx.recorder.emit(cluster, event);
    }

    fn log(&self, pass: &Pass<()>) {
        for transition in &pass.transitions {
            let cluster = &self.observed.name;
            match &transition.to {
                State::Failed { message, .. } => {
                    tracing::warn!(cluster, task = %transition.task, message, "step failed");
                    self.emit_step(&transition.task, "StepFailed", message);
                }
                State::Retrying { message, .. } => {
                    tracing::info!(cluster, task = %transition.task, message, "step is tried again");
                    self.emit_step(&transition.task, "StepRetrying", message);
                }
                _ => tracing::debug!(cluster, task = %transition.task, "step changed"),
            }
        }
    }
}

/// Whether the status says that the current spec is valid.
fn is_accepted(cluster: &Cluster) -> bool {
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| {
        condition.kind == status::ACCEPTED
            && condition.status == ConditionStatus::True
            && condition.observed_generation == cluster.metadata.generation
    })
}

/// Whether a machine is one of the control plane that the controller created for this cluster.
fn is_owned(machine: &Machine, cluster: &Cluster) -> bool {
    let uid = cluster.metadata.uid.as_deref();
    let mut owners = machine.owner_references().iter();
    owners.any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid)
}

/// Why a machine that the controller did not create keeps its name from one of the control plane.
fn name_refusal(machine: &Machine, cluster: &Cluster) -> String {
    let other = &machine.spec.cluster;
    if *other == cluster.name_any() {
        "a machine of this name exists that the controller did not create; delete it".to_owned()
    } else {
        format!("a machine of this name belongs to cluster {other}")
    }
}

/// Why a machine is not the one on which something was done. The definition prevents it, unless it is an older one.
fn address_refusal(machine: &Machine) -> Option<String> {
    let now = &machine.spec.access;
    let first = machine.status.as_ref()?.address.as_ref()?;
    let ip = |address: &str| address.parse().map(|it: SocketAddr| it.ip());
    (ip(first) != ip(&now.address())).then(|| {
        let now = &now.ip;
        format!(
            "was set up at {first}, and its IP address is now {now}; restore it, put another machine in its place with \
             outrigger machine replace, or remove it and add it again"
        )
    })
}

/// Deletes a machine. One that does not exist is deleted.
async fn delete(api: &Api<Machine>, name: &str) -> Result<(), kube::Error> {
    match api.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(reply)) if reply.code == 404 => Ok(()),
        result => result.map(drop),
    }
}
