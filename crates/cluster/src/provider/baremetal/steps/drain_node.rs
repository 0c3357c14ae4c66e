//! `EnsureDrainNode`: moves pods away from a node before its kubelet is upgraded.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::annotation::DRAINED;

use super::control_plane;
use crate::provider::baremetal::version_skew::is_minor_upgrade;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct DrainNode;

fn work(input: &StepInput<'_>) -> Option<Work> {
    let machine = input.machine?;
    // A kubelet of another minor version does not take over the pods that run.
    let is_drained = is_minor_upgrade(input.cluster)
        || input
            .cluster
            .spec
            .features
            .upgrade
            .drain_node_before_upgrade;
    is_drained.then(|| {
        Work::new("drain the node", include_str!("../scripts/drain_node.sh"))
            .with("ADDRESS", &machine.spec.access.ip)
            .with("MARK", DRAINED)
    })
}

async fn drain(effect: Effect<'_>) -> Result<(), StepError> {
    let Some(work) = work(&effect.input()) else {
        return Ok(());
    };
    let control_plane = control_plane(effect).await?;
    work.query(control_plane.as_ref()).await.map(drop)
}

impl Step for DrainNode {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        work(input).map(|work| work.plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), drain(effect).await) }.boxed()
    }
}
