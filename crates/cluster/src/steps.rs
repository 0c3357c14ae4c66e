//! Steps: what they need (a pure plan), and what they do (an effect on a machine).
//!
//! Files and hooks are the same for all providers and are here, one file each. All other steps belong to providers.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::{Cluster, Features};
use outrigger_api::duration;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::machine::{Machine, MachineFacts, ProxyStatus};
use outrigger_api::repository::SecretReference;
use outrigger_flow::Attempt;
use outrigger_node::Tree;
use sha2::{Digest as _, Sha256};

use crate::changes::Change;
use crate::hook_command::ArgumentLimit;
use crate::{Remote, RemoteError};

mod copy_files;
mod preflight;
mod remove_files;
mod run_hook;

pub(crate) use copy_files::CopyFiles;
pub(crate) use preflight::Preflight;
pub(crate) use remove_files::RemoveFiles;
pub(crate) use run_hook::RunHook;
pub use run_hook::{hook_result, tail};

const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_mins(10);

/// What a plan is made of.
#[derive(Debug, Clone, Copy)]
pub struct StepInput<'a> {
    pub cluster: &'a Cluster,
    /// The machine of the task. For tasks of the cluster, the first of the control plane, if there is one.
    pub machine: Option<&'a Machine>,
    pub tree: &'a Tree,
}

/// What a step is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlan {
    /// Identifies the input: the step is done again when it changes.
    pub digest: String,
    /// For people.
    pub text: String,
}

/// What a step works with.
#[derive(Debug, Clone, Copy)]
pub struct Effect<'a> {
    pub cluster: &'a Cluster,
    pub machine: &'a Machine,
    pub remote: &'a dyn Remote,
    pub tree: &'a Tree,
    pub attempt: &'a Attempt,
    pub peers: &'a dyn Peers,
    /// The clock of the controller.
    pub now: fn() -> jiff::Timestamp,
}

/// The machines of a cluster, and connections to them.
pub trait Peers: Debug + Send + Sync {
    /// All machines.
    fn machines(&self) -> Vec<Arc<Machine>>;

    /// The machines of the control plane on which commands for the cluster can run, the first choice first.
    fn control_planes(&self) -> Vec<Arc<Machine>>;

    /// A machine, which is connected to when it is used.
    fn connect<'a>(
        &'a self,
        machine: &'a Machine,
    ) -> BoxFuture<'a, Result<Arc<dyn Remote>, RemoteError>>;

    /// User name and password of a registry, in a Secret.
    fn registry_credentials<'a>(
        &'a self,
        reference: &'a SecretReference,
    ) -> BoxFuture<'a, Result<(String, RedactedBytes), StepError>>;
}

impl<'a> Effect<'a> {
    /// What the plan of this step was made of.
    pub fn input(&self) -> StepInput<'a> {
        StepInput {
            cluster: self.cluster,
            machine: Some(self.machine),
            tree: self.tree,
        }
    }

    /// Identifies the step of this cluster on a machine.
    pub fn task(&self) -> String {
        task_of(self.cluster, self.attempt)
    }
}

/// Another cluster of the same name has another uid.
pub(crate) fn task_of(cluster: &Cluster, attempt: &Attempt) -> String {
    task(cluster, attempt.task.step)
}

pub(crate) fn task(cluster: &Cluster, step: &str) -> String {
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    format!("{uid}/{step}")
}

/// What a step found out, for the status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub hook: Option<HookStatus>,
    pub facts: Option<MachineFacts>,
    /// The host key of the machine, which is required from now on.
    pub host_key: Option<String>,
    /// The machine id, if the machine was asked for it.
    pub machine_id: Option<String>,
    /// The address at which the machine was reached, which it keeps from now on.
    pub address: Option<String>,
    /// The same as the host key for the jump host.
    pub proxy: Option<ProxyStatus>,
    /// The kubeconfig of the administrator of the cluster.
    pub kubeconfig: Option<RedactedBytes>,
    /// The Secret in which it is kept.
    pub kubeconfig_secret: Option<SecretReference>,
    /// Host and port of the API server.
    pub endpoint: Option<String>,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Arguments(#[from] ArgumentLimit),
    #[error("{hook} exited with code {code}: {output}")]
    HookFailed {
        hook: &'static str,
        code: i32,
        output: String,
    },
    #[error("{hook} did not end within {timeout:?}")]
    HookTimedOut {
        hook: &'static str,
        timeout: Duration,
    },
    #[error("{hook} was canceled")]
    HookCanceled { hook: &'static str },
    #[error("{hook} was interrupted: the machine rebooted, or its supervisor was killed")]
    HookLost { hook: &'static str },
    #[error("{0} is not among the files")]
    NoScript(String),
    #[error("architecture {0:?} is not supported")]
    Architecture(String),
    #[error("the machine cannot be a node: {0}")]
    Preflight(String),
    #[error("the machines cannot form a cluster: {0}")]
    ClusterPreflight(String),
    #[error("{what} {how}: {output}")]
    Script {
        what: String,
        /// Such as `exited with code 1`.
        how: String,
        output: String,
    },
    #[error("{0}")]
    Provider(String),
}

/// A step of a provider.
pub trait Step: Send + Sync {
    /// What the step is about to do; `None` if there is nothing to do.
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan>;

    /// Does it. Repeating it for the same attempt must not repeat its effect.
    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)>;

    /// What it changes on the machine, for plans.
    fn changes(&self, _: &StepInput<'_>) -> Vec<Change> {
        Vec::new()
    }

    /// How many bytes it may copy to a machine, in addition to the files of the spec.
    fn copied_bytes(&self, _: &StepInput<'_>) -> u64 {
        0
    }

    /// Whether it reaches the machine that it is about. Other steps are also done for a machine that is lost.
    fn needs_machine(&self) -> bool {
        true
    }

    /// Whether an attempt goes on without the process that began it.
    fn is_detached(&self) -> bool {
        false
    }
}

/// The maximum duration of a hook.
pub(crate) fn hook_timeout(features: &Features) -> Duration {
    let timeout = features.hook_timeout.as_deref().and_then(duration::parse);
    timeout.unwrap_or(DEFAULT_HOOK_TIMEOUT)
}

/// The digest of the parts of an input. Parts are separated, so that they cannot be confused.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
