//! `EnsureClusterComplete` and `EnsureJoinPhasePreflight`: compare the facts of all machines.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::Machine;

use crate::provider::baremetal::preflight::{duplicates, result};
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct Duplicates;

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
        async move {
            let machines = effect.peers.machines();
            let others: Vec<&Machine> = machines.iter().map(AsRef::as_ref).collect();
            // The machines of the effect may be older than what the peers know.
            let name = &effect.machine.metadata.name;
            let known = others.iter().find(|machine| machine.metadata.name == *name);
            let machine = known.copied().unwrap_or(effect.machine);
            let found = duplicates(effect.cluster, machine, &others);
            (Report::default(), result(&found))
        }
        .boxed()
    }
}
