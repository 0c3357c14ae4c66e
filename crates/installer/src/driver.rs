//! Runs an installation: passes of the flow engine, until nothing is left to do.
//!
//! The installer is killed at any time: what was stored is resumed. A hook that runs meanwhile goes on, and is found by its
//! attempt id. The store of the embedded API server is open in one process only, so that there is one installer at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::installation::{Installation, InstallationSpec};
use outrigger_api::step::installer::INSTALLER_STEPS;
use outrigger_flow::{
    Attempt, Desired, Flow, Identity, Outcome as FlowOutcome, Pass, Record, Retry, Runner, State,
    Step, Target, Transition, WriteError,
};
use tokio::sync::mpsc;

use crate::contents::Contents;
use crate::folders::Folders;
use crate::operator::{ApiEndpoint, Supervisor};
use crate::plan;
use crate::registry::LocalRegistry;
use crate::reports::Reports;
use crate::site::Site;
use crate::status::{self, FLOW};
use crate::steps::{Effects, Executor};
use crate::store::StatusStore;

const FIELD_MANAGER: &str = "outrigger-installer";

/// How long a step that waits for a cluster or for plugins may take.
const LONG: Duration = Duration::from_hours(6);

/// How long a hook may take.
pub(crate) const HOOK_TIMEOUT: Duration = Duration::from_hours(1);

/// How long another process would wait for this one.
const LEASE: Duration = Duration::from_secs(15);

/// Which steps run.
#[derive(Debug, Clone, Default)]
pub struct Range {
    /// This step and all later ones run again, also if they are done.
    pub from: Option<&'static str>,
    /// The last step.
    pub until: Option<&'static str>,
}

/// How an installation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done; or all steps of the range are.
    Done,
    /// These steps failed: ids and messages.
    Failed(Vec<(&'static str, String)>),
    Interrupted,
}

/// The operator of the package goes on until this is dropped.
#[derive(Debug)]
pub struct RunningOperator {
    _operator: Arc<Supervisor>,
}

/// Why an installation cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to apply the Installation {name}")]
    Apply {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("failed to read the Installation {name}")]
    Read {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("failed to record the progress of the Installation {name}")]
    Record {
        name: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the table of the installer's steps is invalid")]
    Flow(#[from] outrigger_flow::InvalidFlow),
    #[error("the system has no random numbers")]
    Random,
}

/// An installation that can be run.
pub struct Installer {
    pub client: Client,
    /// The name of the Installation.
    pub name: String,
    pub spec: InstallationSpec,
    pub contents: Arc<Contents>,
    pub folders: Folders,
    pub registry: Option<LocalRegistry>,
    pub site: Arc<dyn Site>,
    /// The API server, for the operator.
    pub endpoint: ApiEndpoint,
    /// How the registry of the site is accessed.
    pub push: outrigger_oci::Options,
    /// Ids of steps that are not run.
    pub skip: BTreeSet<&'static str>,
    pub range: Range,
    pub now: fn() -> Timestamp,
}

impl std::fmt::Debug for Installer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Installer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Installer {
    /// Runs the installation until it is done or failed, or until shutdown. `notify` gets each change that was stored.
    pub async fn run(
        &self,
        shutdown: impl Future<Output = ()>,
        notify: &mut (dyn FnMut(&Transition) + Send),
    ) -> Result<(Outcome, RunningOperator), RunError> {
        let api: Api<Installation> = Api::all(self.client.clone());
        let installation = self.apply(&api).await?;
        let reports = Arc::new(Reports::default());
        let run = format!("{}-{FLOW}", installation.uid().unwrap_or_default());
        let store = StatusStore::new(api, installation, &reports);
        let holder = random_name()?;
        let retry = self.begin(&store, &holder).await?;
        let (ended, mut attempts) = mpsc::unbounded_channel();
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        let operator = Arc::new(Supervisor::new(client, endpoint, self.folders.clone()));
        let effects = self.effects(&run, &operator);
        self.resume_operator(&store, &effects).await;
        let executor = Executor::new(effects, Arc::clone(&reports), ended);
        let mut runner = Runner::new(Identity {
            holder,
            lease: LEASE,
            is_exclusive: true,
        });
        let flow = flow()?;
        let inputs = Inputs::new(self);
        tokio::pin!(shutdown);
        loop {
            let desired = inputs.desired(&run, retry.as_deref());
            let (records, parts) = (store.records(), (&store, &executor));
            let pass = runner.pass(&flow, &desired, records, parts, self.now).await;
            pass.transitions.iter().for_each(&mut *notify);
            if let Some(outcome) = Self::ended(&pass) {
                let record = pass.records.get(&Target::Cluster);
                let is_completed = outcome == Outcome::Done && self.range.until.is_none();
                if let Some(((), record)) = record {
                    let written = store.write_record(record, is_completed).await;
                    written.map_err(|error| self.not_recorded(error))?;
                }
                return Ok((
                    outcome,
                    RunningOperator {
                        _operator: operator,
                    },
                ));
            }
            self.recover(&store, &pass).await?;
            tokio::select! {
                Some((attempt, result)) = attempts.recv() => runner.report(attempt, result),
                () = sleep_until(pass.wake, (self.now)()) => {}
                () = &mut shutdown => {
                    return Ok((Outcome::Interrupted, RunningOperator { _operator: operator }));
                }
            }
        }
    }

    /// Creates the object, or changes its spec.
    async fn apply(&self, api: &Api<Installation>) -> Result<Installation, RunError> {
        let object = Installation::new(&self.name, self.spec.clone());
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&object);
        let applied = api.patch(&self.name, &parameters, &patch).await;
        applied.map_err(|source| RunError::Apply {
            name: self.name.clone(),
            source,
        })
    }

    /// Forgets what is to run again. Returns the request for another try, if something failed before.
    async fn begin(
        &self,
        store: &StatusStore<'_>,
        holder: &str,
    ) -> Result<Option<String>, RunError> {
        let Some(mut record) = status::record(&store.current()) else {
            return Ok(None);
        };
        if let Some(from) = self.range.from {
            let mut steps = INSTALLER_STEPS.iter().map(|step| step.id);
            let _ = steps.by_ref().find(|step| *step == from);
            let again: Vec<&str> = [from].into_iter().chain(steps).collect();
            status::forget(&mut record, &again, (self.now)());
            let written = store.write_record(&record, false).await;
            written.map_err(|error| self.not_recorded(error))?;
        }
        let mut states = record.tasks.values().map(|task| &task.state);
        let has_failed =
            states.any(|state| matches!(state, State::Failed { .. } | State::Retrying { .. }));
        Ok(has_failed.then(|| holder.to_owned()))
    }

    fn effects(&self, run: &str, operator: &Arc<Supervisor>) -> Effects {
        Effects {
            run: run.to_owned(),
            contents: Arc::clone(&self.contents),
            folders: self.folders.clone(),
            store: self
                .registry
                .as_ref()
                .map(|registry| registry.store().clone()),
            registry_url: self.registry.as_ref().map(LocalRegistry::url),
            site: Arc::clone(&self.site),
            operator: Arc::clone(operator),
            push: self.push.clone(),
            now: self.now,
        }
    }

    /// An operator ended with the installer that started it, and its step is not repeated.
    async fn resume_operator(&self, store: &StatusStore<'_>, effects: &Effects) {
        const STEP: &str = "StartExpansionOperator";
        let record = status::record(&store.current()).unwrap_or_default();
        let is_started = plan::is_done(STEP, &self.contents, &record);
        if is_started && let Err(message) = effects.start_operator().await {
            tracing::warn!("failed to start the operator again: {message}");
        }
    }

    /// The end of the installation, if it has come.
    fn ended(pass: &Pass<()>) -> Option<Outcome> {
        if !pass.errors.is_empty() {
            return None;
        }
        match &pass.outcome {
            FlowOutcome::Done => Some(Outcome::Done),
            FlowOutcome::Failed(tasks) => {
                let ((), record) = pass.records.get(&Target::Cluster)?;
                let failed = tasks.iter().map(|task| match record.state(task.step) {
                    State::Failed { message, .. } => (task.step, message.clone()),
                    _ => (task.step, String::new()),
                });
                Some(Outcome::Failed(failed.collect()))
            }
            _ => None,
        }
    }

    /// Reads the object again if somebody changed it meanwhile.
    async fn recover(&self, store: &StatusStore<'_>, pass: &Pass<()>) -> Result<(), RunError> {
        match pass.errors.first() {
            None => Ok(()),
            Some((_, WriteError::Conflict)) => {
                store.reload().await.map_err(|source| RunError::Read {
                    name: self.name.clone(),
                    source,
                })
            }
            // Every later write would fail, too: the disk is full, for example.
            Some((_, error)) => Err(self.not_recorded(error.clone())),
        }
    }

    fn not_recorded(&self, error: impl std::error::Error + Send + Sync + 'static) -> RunError {
        RunError::Record {
            name: self.name.clone(),
            source: Box::new(error),
        }
    }
}

/// What the plan is made of.
struct Inputs {
    digests: BTreeMap<outrigger_flow::Task, String>,
    omitted: BTreeSet<outrigger_flow::Task>,
    skip: BTreeSet<&'static str>,
    nobody: BTreeSet<String>,
    delegate: BTreeMap<&'static str, outrigger_flow::Delegate>,
}

impl Inputs {
    fn new(installer: &Installer) -> Self {
        let (digests, mut omitted) = plan::inputs(&installer.contents);
        if let Some(until) = installer.range.until {
            let steps = INSTALLER_STEPS.iter().map(|step| step.id);
            let later = steps.skip_while(|step| *step != until).skip(1);
            omitted.extend(later.map(plan::task));
        }
        Self {
            digests,
            omitted,
            skip: installer.skip.clone(),
            nobody: BTreeSet::new(),
            delegate: BTreeMap::new(),
        }
    }

    fn desired<'a>(&'a self, run: &'a str, retry: Option<&'a str>) -> Desired<'a> {
        Desired {
            run,
            machines: &[],
            max_in_turn: 1,
            alone: &self.nobody,
            omitted: &self.omitted,
            digests: &self.digests,
            skip: &self.skip,
            delegate: &self.delegate,
            retry,
            is_canceled: false,
        }
    }
}

/// The flow of an installation.
fn flow() -> Result<Flow, outrigger_flow::InvalidFlow> {
    let steps = INSTALLER_STEPS.iter().map(|step| Step {
        aliases: step.aliases,
        timeout: match step.id {
            id if id.starts_with("Execute") => HOOK_TIMEOUT.saturating_add(Duration::from_mins(1)),
            _ => LONG,
        },
        retry: match step.id {
            // The flow of the cluster and the plugins have retries of their own.
            "CreateGlobalCluster" | "InstallPlugins" => Retry {
                attempts: 1,
                ..Retry::default()
            },
            _ => Retry {
                attempts: 3,
                ..Retry::default()
            },
        },
        ..Step::cluster(step.id)
    });
    Flow::new(FLOW, steps.collect())
}

async fn sleep_until(wake: Option<Timestamp>, now: Timestamp) {
    let Some(wake) = wake else {
        return std::future::pending().await;
    };
    let left = Duration::try_from(wake.duration_since(now)).unwrap_or_default();
    tokio::time::sleep(left).await;
}

/// Identifies this process.
fn random_name() -> Result<String, RunError> {
    let number = getrandom::u64().map_err(|_| RunError::Random)?;
    Ok(format!("installer-{number:016x}"))
}

/// What an executor reports.
pub(crate) type Ended = (Attempt, Result<(), String>);

/// The record of an installation, or an empty one.
impl Installer {
    /// What is recorded about the steps, for plans.
    pub async fn record(client: &Client, name: &str) -> Result<Record, RunError> {
        let api: Api<Installation> = Api::all(client.clone());
        let found = api.get_opt(name).await.map_err(|source| RunError::Read {
            name: name.to_owned(),
            source,
        })?;
        Ok(found.as_ref().and_then(status::record).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_has_all_steps_with_their_older_names() {
        let flow = flow().unwrap();
        assert_eq!(flow.steps().len(), INSTALLER_STEPS.len());
        assert_eq!(flow.step("Load images").unwrap().id, "LoadImages");
    }
}
