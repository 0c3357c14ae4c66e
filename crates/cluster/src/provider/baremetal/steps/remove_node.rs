//! `EnsureRemoveNode`: drains a node, removes it from the cluster, and removes what was installed on its machine.

use futures::FutureExt as _;
use futures::future::{BoxFuture, try_join_all};

use super::control_plane;
use super::remove_machine::{clean, remove};
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct RemoveNode;

async fn remove_node(effect: Effect<'_>) -> Result<(), StepError> {
    let control_plane = control_plane(effect).await?;
    let address = &effect.machine.spec.access.ip;
    Work::new(
        "drain and remove the node",
        include_str!("../scripts/remove_node.sh"),
    )
    .with("ADDRESS", address)
    .query(control_plane.as_ref())
    .await?;
    let machines = effect.peers.machines();
    let others = machines
        .iter()
        .filter(|machine| machine.spec.access.ip != *address);
    let removed = others.map(|machine| async {
        let remote = effect.peers.connect(machine).await?;
        Work::new("remove a route", include_str!("../scripts/remove_route.sh"))
            .with("VIA", address)
            .query(remote.as_ref())
            .await
            .map(drop)
    });
    try_join_all(removed).await?;
    remove(effect, &clean("")).await
}

impl Step for RemoveNode {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some(clean("").plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), remove_node(effect).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
