//! The inputs of a flow: what `flow::plan` compares with the records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::ResourceExt as _;
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{ANY_OPERATOR, Cluster, ClusterType};
use outrigger_api::duration;
use outrigger_api::hook::Hook;
use outrigger_api::machine::{Machine, MachineRole};
use outrigger_api::step::{self, FlowName, FlowStep, StepRole, StepScope};
use outrigger_flow::{Delegate, Desired, Flow, Retry, Scope, Step, Target, Task};
use outrigger_node::Tree;

use crate::lifecycle::{self, Run};
use crate::steps::hook_timeout;
use crate::{Provider, StepInput, provider};

const DEFAULT_DELEGATION: Duration = Duration::from_hours(1);
/// An attempt ends on its machine, and that is reported; the deadline is for what does not report.
const REPORT_TIME: Duration = Duration::from_secs(45);
/// How fast files are copied at least, in bytes a second. A copy that does not advance ends by itself.
const COPY_RATE: u64 = 1_000_000;

/// The steps of imported clusters.
const IMPORTED: &[&str] = &["EnsureCreateClusterMark", "EnsureCleanClusterMark"];

/// What a flow has to achieve.
#[derive(Debug)]
pub struct Inputs {
    pub flow: Flow,
    pub run: Run,
    machines: Vec<String>,
    max_in_turn: usize,
    alone: BTreeSet<String>,
    omitted: BTreeSet<Task>,
    digests: BTreeMap<Task, String>,
    /// What each task is about to do, for people.
    pub texts: BTreeMap<Task, String>,
    skip: BTreeSet<&'static str>,
    delegate: BTreeMap<&'static str, Delegate>,
    retry: Option<String>,
}

impl Inputs {
    /// The inputs of a run on these machines, the first of the control plane first.
    pub fn new(
        cluster: &Cluster,
        machines: &[&Machine],
        tree: &Tree,
        provider: &dyn Provider,
        run: Run,
    ) -> Self {
        let at_run = lifecycle::at_run(cluster, &run);
        let cluster = at_run.as_ref();
        let features = &cluster.spec.features;
        let find = |names: &[String]| names.iter().filter_map(|name| step::find(name)).collect();
        let skip: BTreeSet<&'static str> = find(&features.skip_conditions);
        let delegated: BTreeSet<&'static str> = find(&features.delegate_conditions);
        let delegate = delegated.into_iter().map(|id| (id, delegate(cluster)));
        let annotations = cluster.metadata.annotations.as_ref();
        let mut inputs = Self {
            flow: flow(cluster, machines, tree, provider, &run),
            machines: machines.iter().map(|machine| machine.name_any()).collect(),
            max_in_turn: max_in_turn(cluster, run.flow),
            alone: control_planes(machines),
            omitted: BTreeSet::new(),
            digests: BTreeMap::new(),
            texts: BTreeMap::new(),
            skip,
            delegate: delegate.collect(),
            retry: annotations.and_then(|all| all.get(RETRY)).cloned(),
            run,
        };
        for flow_step in steps(cluster, &inputs.run) {
            inputs.add_step(cluster, machines, tree, provider, flow_step);
        }
        inputs
    }

    fn add_step(
        &mut self,
        cluster: &Cluster,
        machines: &[&Machine],
        tree: &Tree,
        provider: &dyn Provider,
        flow_step: &FlowStep,
    ) {
        let input = |machine| StepInput {
            cluster,
            machine,
            tree,
        };
        if flow_step.scope == StepScope::Cluster {
            let input = input(machines.first().copied());
            return self.add_task(provider, flow_step, Target::Cluster, input, true);
        }
        for (index, machine) in machines.iter().enumerate() {
            let target = Target::Machine(machine.name_any());
            let applies = applies(flow_step.role, machine.spec.role, index)
                && can_run(provider, flow_step, machine);
            self.add_task(provider, flow_step, target, input(Some(machine)), applies);
        }
    }

    fn add_task(
        &mut self,
        provider: &dyn Provider,
        flow_step: &FlowStep,
        target: Target,
        input: StepInput<'_>,
        applies: bool,
    ) {
        let id = flow_step.id;
        let task = Task { step: id, target };
        let step = provider::step(provider, id);
        let plan = step.and_then(|step| step.plan(&input)).filter(|_| applies);
        // A step that is skipped or delegated is reported, even if the provider has nothing to do.
        let is_listed = self.skip.contains(id) || self.delegate.contains_key(id);
        match plan {
            Some(plan) => {
                self.digests.insert(task.clone(), plan.digest);
                self.texts.insert(task, plan.text);
            }
            None if is_listed && applies => {}
            None => {
                self.omitted.insert(task);
            }
        }
    }

    /// What `flow::plan` takes.
    pub fn desired(&self) -> Desired<'_> {
        Desired {
            run: &self.run.id,
            machines: &self.machines,
            max_in_turn: self.max_in_turn,
            alone: &self.alone,
            omitted: &self.omitted,
            digests: &self.digests,
            skip: &self.skip,
            delegate: &self.delegate,
            retry: self.retry.as_deref(),
            is_canceled: false,
        }
    }

    /// The tasks in their order, with what they are about to do.
    pub fn tasks(&self) -> Vec<(Task, String)> {
        let mut tasks = Vec::new();
        for step in self.flow.steps() {
            let targets: Vec<Target> = match step.scope {
                Scope::Cluster => vec![Target::Cluster],
                _ => self.machines.iter().cloned().map(Target::Machine).collect(),
            };
            for target in targets {
                let id = step.id;
                let task = Task { step: id, target };
                if self.omitted.contains(&task) {
                    continue;
                }
                let text = match (self.skip.contains(id), self.delegate.get(id)) {
                    (true, _) => "skip".to_owned(),
                    (false, Some(delegate)) => format!("wait for {}", delegate.owner),
                    (false, None) => self.texts.get(&task).cloned().unwrap_or_default(),
                };
                tasks.push((task, text));
            }
        }
        tasks
    }

    /// Those of the machines that take part in the flow.
    pub fn participants<'a>(
        &self,
        machines: &'a [&'a Machine],
    ) -> impl Iterator<Item = &'a Machine> {
        let machines = machines.iter().copied();
        machines.filter(|machine| self.takes_part(machine))
    }

    /// Whether a machine takes part in the flow.
    pub fn takes_part(&self, machine: &Machine) -> bool {
        self.machines.contains(&machine.name_any())
    }

    /// Whether a target takes part in the run and has finished all its tasks.
    pub fn is_finished(&self, target: &Target, record: &outrigger_flow::Record) -> bool {
        let takes_part = match target {
            Target::Cluster => true,
            Target::Machine(name) => self.machines.contains(name),
        };
        let mut steps = self.flow.steps().iter();
        takes_part
            && record.run == self.run.id
            && steps
                .all(|step| !self.is_task(target, step.id) || record.state(step.id).is_finished())
    }

    /// Whether a step is done on a target.
    pub fn is_task(&self, target: &Target, step: &str) -> bool {
        let Some(step) = self.flow.step(step) else {
            return false;
        };
        let is_of_cluster = step.scope == Scope::Cluster;
        let is_in_scope = match target {
            Target::Cluster => is_of_cluster,
            Target::Machine(name) => !is_of_cluster && self.machines.contains(name),
        };
        let task = Task {
            step: step.id,
            target: target.clone(),
        };
        is_in_scope && !self.omitted.contains(&task)
    }
}

/// How many workers are upgraded at the same time. In all other flows, what is done in turn is done on one machine.
fn max_in_turn(cluster: &Cluster, flow: FlowName) -> usize {
    let max = cluster.spec.features.upgrade.max_unavailable;
    let max = max.filter(|_| flow == FlowName::Upgrade).unwrap_or(1);
    usize::try_from(max).unwrap_or(usize::MAX)
}

fn control_planes(machines: &[&Machine]) -> BTreeSet<String> {
    let machines = machines.iter();
    let machines = machines.filter(|machine| machine.spec.role == MachineRole::ControlPlane);
    machines.map(|machine| machine.name_any()).collect()
}

fn steps<'a>(cluster: &Cluster, run: &Run) -> impl Iterator<Item = &'a FlowStep> + use<'a> {
    let is_imported = cluster.spec.kind == ClusterType::Imported;
    let steps = step::steps(run.flow).iter();
    steps.filter(move |step| !is_imported || IMPORTED.contains(&step.id))
}

fn flow(
    cluster: &Cluster,
    machines: &[&Machine],
    tree: &Tree,
    provider: &dyn Provider,
    run: &Run,
) -> Flow {
    let steps = steps(cluster, run).map(|declared| {
        let copied = machines.iter().map(|machine| {
            let input = StepInput {
                cluster,
                machine: Some(machine),
                tree,
            };
            let step = provider::step(provider, declared.id);
            step.map_or(0, |step| step.copied_bytes(&input))
        });
        flow_step(cluster, declared, copied.max().unwrap_or_default())
    });
    Flow::new(run.flow.as_str(), steps.collect()).expect("a test checks that names are unique")
}

fn flow_step(cluster: &Cluster, declared: &FlowStep, copied_bytes: u64) -> Step {
    let scope = match declared.scope {
        StepScope::Cluster => Scope::Cluster,
        StepScope::Machine => Scope::Machine,
        StepScope::MachineInTurn => Scope::MachineInTurn,
    };
    let mut step = Step::new(declared.id, scope);
    step.aliases = step::aliases(declared.id);
    step.is_delegable = step::is_delegable(declared.id);
    let copying = Duration::from_secs(copied_bytes / COPY_RATE);
    step.timeout = step.timeout.saturating_add(copying);
    if Hook::of_step(declared.id).is_some() {
        let features = &cluster.spec.features;
        step.timeout = hook_timeout(features).saturating_add(REPORT_TIME);
        let default = Retry::default();
        step.retry.attempts = features.hook_attempts.unwrap_or(default.attempts);
    }
    step
}

fn applies(role: StepRole, machine: MachineRole, index: usize) -> bool {
    let is_control_plane = machine == MachineRole::ControlPlane;
    match role {
        StepRole::All => true,
        StepRole::ControlPlane => is_control_plane,
        StepRole::JoiningControlPlane => is_control_plane && index > 0,
        StepRole::Worker => !is_control_plane,
    }
}

/// Whether a step can be done for a machine: one that is lost cannot be reached.
fn can_run(provider: &dyn Provider, flow_step: &FlowStep, machine: &Machine) -> bool {
    let step = provider::step(provider, flow_step.id);
    !lifecycle::is_lost(machine) || step.is_some_and(|step| !step.needs_machine())
}

fn delegate(cluster: &Cluster) -> Delegate {
    let delegation = cluster.spec.features.delegation.as_ref();
    let owner = delegation.map_or(ANY_OPERATOR, |delegation| &delegation.owner);
    let timeout = delegation.and_then(|delegation| delegation.timeout.as_deref());
    Delegate {
        owner: owner.to_owned(),
        timeout: timeout
            .and_then(duration::parse)
            .unwrap_or(DEFAULT_DELEGATION),
    }
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::ClusterSpec;
    use outrigger_api::machine::MachineSpec;
    use outrigger_node::Entry;

    use super::*;
    use crate::StandIn;

    #[test]
    fn workers_are_upgraded_together_and_control_planes_alone() {
        let machine = |name: &str, role| {
            let mut machine = Machine::new(name, MachineSpec::default());
            machine.spec.role = role;
            machine
        };
        let control_plane = machine("c", MachineRole::ControlPlane);
        let worker = machine("w", MachineRole::Worker);
        assert_eq!(
            control_planes(&[&control_plane, &worker]),
            ["c".to_owned()].into()
        );
        let mut cluster = Cluster::new("c", ClusterSpec::default());
        assert_eq!(max_in_turn(&cluster, FlowName::Upgrade), 1);
        cluster.spec.features.upgrade.max_unavailable = Some(3);
        assert_eq!(max_in_turn(&cluster, FlowName::Upgrade), 3);
        assert_eq!(max_in_turn(&cluster, FlowName::ScaleUp), 1);
    }

    #[test]
    fn a_copy_of_large_files_may_take_longer() {
        let root = tempfile::tempdir().unwrap();
        let file = fs_err::File::create(root.path().join("image")).unwrap();
        let timeout = |size: u64| {
            file.set_len(size).unwrap();
            let entry = Entry {
                source: "image".into(),
                destination: "/opt/image".to_owned(),
            };
            let tree = Tree::scan(root.path(), &[entry], &BTreeSet::new()).unwrap();
            let cluster = Cluster::new("c", ClusterSpec::default());
            let machine = Machine::new("m", MachineSpec::default());
            let run = Run {
                flow: FlowName::Create,
                id: "1-Create".to_owned(),
            };
            let flow = flow(&cluster, &[&machine], &tree, &StandIn, &run);
            flow.step("EnsureCopyFiles").unwrap().timeout
        };
        assert_eq!(timeout(0), Duration::from_mins(10));
        assert_eq!(timeout(3_000_000), Duration::from_secs(603));
    }
}
