//! `EnsureRemoveNode`: drains a node, removes it from the cluster, and removes what was installed on its machine. A machine
//! that is lost is only removed from the cluster.

use futures::FutureExt as _;
use futures::future::{BoxFuture, try_join_all};

use super::control_plane;
use super::remove_machine::{remove, work};
use crate::lifecycle::is_lost;
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
    .with("LOST", is_lost(effect.machine).to_string())
    .query(control_plane.as_ref())
    .await?;
    let machines = effect.peers.machines();
    let others = machines
        .iter()
        .filter(|machine| machine.spec.access.ip != *address && !is_lost(machine));
    let removed = others.map(|machine| async {
        let remote = effect.peers.connect(machine).await?;
        Work::new("remove a route", include_str!("../scripts/remove_route.sh"))
            .with("VIA", address)
            .query(remote.as_ref())
            .await
            .map(drop)
    });
    try_join_all(removed).await?;
    if is_lost(effect.machine) {
        return Ok(());
    }
    remove(effect, &work()).await
}

impl Step for RemoveNode {
    fn plan(&self, _: &StepInput<'_>) -> Option<StepPlan> {
        Some(work().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), remove_node(effect).await) }.boxed()
    }

    fn needs_machine(&self) -> bool {
        false
    }

    fn is_detached(&self) -> bool {
        true
    }
}
