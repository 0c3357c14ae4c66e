//! `EnsureClusterComplete` and `EnsureJoinPhasePreflight`: compare the facts of machines.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::Machine;

use crate::provider::baremetal::preflight::{
    Finding, all_duplicates, cluster_result, duplicates, result,
};
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

/// Which machines are compared with all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// Each.
    OfCluster,
    /// The one that the step is about.
    OfMachine,
}

/// What a machine has in common with another one of its cluster.
pub(super) fn duplicates_among_peers(effect: Effect<'_>, machine: &Machine) -> Vec<Finding> {
    let machines = effect.peers.machines();
    let others: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
    duplicates(effect.cluster, machine, &others)
}

impl Duplicates {
    fn check(self, effect: Effect<'_>) -> Result<(), StepError> {
        let mut machines: Vec<Arc<Machine>> = effect.peers.machines();
        machines.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let all: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
        if self == Self::OfCluster {
            return cluster_result(&all_duplicates(effect.cluster, &all));
        }
        // The machine of the effect may be older than what the peers know.
        let name = &effect.machine.metadata.name;
        let known = all.iter().find(|machine| machine.metadata.name == *name);
        let machine = known.copied().unwrap_or(effect.machine);
        result(&duplicates_among_peers(effect, machine))
    }
}

impl Step for Duplicates {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        let ignored = input.cluster.spec.ignore_preflight_errors.join(",");
        Some(StepPlan {
            digest: digest(&[&address, &ignored]),
            text: "check that no machine is equal to another one".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), self.check(effect)) }.boxed()
    }
}
