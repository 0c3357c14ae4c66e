//! Providers: how machines become a cluster.
//!
//! A provider has steps; those that it does not have are not done. Files and hooks are not up to providers.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use outrigger_api::cluster::Cluster;
use outrigger_api::hook::HOOKS;
use outrigger_api::machine::Machine;

use crate::Step;
use crate::steps::{CopyFiles, RemoveFiles, RunHook};

mod baremetal;
pub mod folder;
mod stand_in;

pub(crate) use baremetal::backup as baremetal_backup;
use baremetal::{Baremetal, Files};
pub use stand_in::StandIn;

/// How machines become a cluster.
pub trait Provider: Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// What the provider lacks to install this cluster, such as binaries of its version. Reported before anything starts.
    fn missing(&self, cluster: &Cluster) -> Vec<String>;

    /// Why the provider cannot bring a cluster from its installed version to that of the spec.
    fn refused_version(&self, _: &Cluster) -> Option<String> {
        None
    }

    /// Why the control plane cannot become the one of the spec. `machines` are those that the cluster has.
    fn refused_machines(&self, _cluster: &Cluster, _machines: &[&Machine]) -> Option<String> {
        None
    }

    /// The step with an id; `None` if this provider does nothing for it.
    fn step(&self, id: &str) -> Option<&dyn Step>;
}

const STAND_IN: &str = "stand-in";
const BAREMETAL: &str = "baremetal";

/// The name of a cluster's provider, also of the default one.
pub fn name(cluster: &Cluster) -> &str {
    cluster.spec.provider.as_deref().unwrap_or(STAND_IN)
}

/// All providers.
#[derive(Debug, Clone)]
pub struct Providers {
    stand_in: Arc<dyn Provider>,
    baremetal: Arc<dyn Provider>,
}

impl Default for Providers {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Providers {
    fn new(files: Option<Files>) -> Self {
        Self {
            stand_in: Arc::new(StandIn),
            baremetal: Arc::new(Baremetal::new(files)),
        }
    }

    /// The providers with the files of a provider folder. Its index is read now.
    pub fn with_folder(folder: &Path) -> Result<Self, folder::ReadError> {
        Files::open(folder).map(|files| Self::new(Some(files)))
    }

    /// The provider of a cluster.
    pub fn find(&self, cluster: &Cluster) -> Result<Arc<dyn Provider>, String> {
        match name(cluster) {
            STAND_IN => Ok(Arc::clone(&self.stand_in)),
            BAREMETAL => Ok(Arc::clone(&self.baremetal)),
            other => Err(format!(
                "provider {other:?} does not exist; the providers are: {BAREMETAL}, {STAND_IN}"
            )),
        }
    }
}

const HOOK_STEPS: [RunHook; HOOKS.len()] = {
    let mut steps = [const { RunHook(&HOOKS[0]) }; HOOKS.len()];
    let mut index = 0;
    while index < HOOKS.len() {
        steps[index] = RunHook(&HOOKS[index]);
        index += 1;
    }
    steps
};

static HOOKS_BY_STEP: [RunHook; HOOKS.len()] = HOOK_STEPS;

/// The step with an id: of files, of a hook, or of the provider.
pub(crate) fn step<'a>(provider: &'a dyn Provider, id: &str) -> Option<&'a dyn Step> {
    match id {
        "EnsureCopyFiles" => return Some(&CopyFiles),
        "EnsureRemoveFiles" => return Some(&RemoveFiles),
        _ => {}
    }
    let mut hooks = HOOKS_BY_STEP.iter();
    match hooks.find(|hook| hook.0.step == id) {
        Some(hook) => Some(hook),
        None => provider.step(id),
    }
}
