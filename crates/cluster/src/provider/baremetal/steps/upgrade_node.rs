//! `EnsureUpgradeControlPlaneNode` and `EnsureUpgrade`: `kubeadm upgrade` on machines of one role.
//!
//! The first control plane upgrades the cluster, all other machines only what they run themselves.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::machine::MachineRole;

use super::is_first;
use crate::changes::Change;
use crate::provider::baremetal::kubeadm_config;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

/// Upgrades machines of one role.
pub(super) struct UpgradeNode(pub(super) MachineRole);

impl UpgradeNode {
    fn work(&self, input: &StepInput<'_>) -> Option<Work> {
        input.machine.filter(|it| it.spec.role == self.0)?;
        let (text, command) = if is_first(input) {
            ("kubeadm upgrade apply", "apply --yes")
        } else {
            ("kubeadm upgrade node", "node")
        };
        let work = Work::new(text, include_str!("../scripts/upgrade_node.sh"))
            .with("COMMAND", command)
            .with("CONFIG", kubeadm_config::upgrade(input.cluster));
        Some(work)
    }
}

impl Step for UpgradeNode {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        self.work(input).map(|work| work.plan())
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        let work = self.work(input);
        let command = work.map(|work| work.text);
        command
            .map(|command| Change::Run { command })
            .into_iter()
            .collect()
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let result = match self.work(&effect.input()) {
                Some(work) => work.attempt(effect, &[]).await,
                None => Ok(()),
            };
            (Report::default(), result)
        }
        .boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
