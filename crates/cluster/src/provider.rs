//! Providers: how machines become a cluster.
//!
//! A provider has steps; those that it does not have are not done. Files and hooks are not up to providers.

use std::fmt::Debug;

use outrigger_api::cluster::Cluster;
use outrigger_api::hook::HOOKS;

use crate::Step;
use crate::steps::{COPY_FILES, CopyFiles, RemoveFiles, RunHook};

pub mod folder;
mod stand_in;

pub use stand_in::StandIn;

/// How machines become a cluster.
pub trait Provider: Debug + Send + Sync {
    fn name(&self) -> &'static str;

    /// What the provider lacks to install this cluster, such as binaries of its version. Reported before anything starts.
    fn missing(&self, cluster: &Cluster) -> Vec<String>;

    /// The step with an id; `None` if this provider does nothing for it.
    fn step(&self, id: &str) -> Option<&dyn Step>;
}

/// The names of all providers.
pub(crate) const NAMES: &[&str] = &["stand-in"];

/// The provider of a cluster.
pub fn find(cluster: &Cluster) -> Result<&'static dyn Provider, String> {
    match cluster.spec.provider.as_deref() {
        None | Some("stand-in") => Ok(&StandIn),
        Some(other) => Err(format!(
            "provider {other:?} does not exist; the providers are: {}",
            NAMES.join(", ")
        )),
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
        COPY_FILES => return Some(&CopyFiles),
        "EnsureRemoveFiles" => return Some(&RemoveFiles),
        _ => {}
    }
    let mut hooks = HOOKS_BY_STEP.iter();
    match hooks.find(|hook| hook.0.step == id) {
        Some(hook) => Some(hook),
        None => provider.step(id),
    }
}
