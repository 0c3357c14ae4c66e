//! `EnsureNodeUpgraded`: waits until a node is ready with its new version, and lets pods run on it again.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::annotation::DRAINED;

use super::{control_plane, role};
use crate::lifecycle::desired_version;
use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct NodeUpgraded;

fn work(input: &StepInput<'_>) -> Option<Work> {
    let machine = input.machine?;
    let version = desired_version(input.cluster);
    let work = Work::new(
        format!("wait until the node is ready with version {version}"),
        include_str!("../scripts/node_upgraded.sh"),
    );
    let work = work
        .with("ADDRESS", &machine.spec.access.ip)
        .with("ROLE", role(machine))
        .with("VERSION", version)
        .with("MARK", DRAINED);
    Some(work)
}

async fn wait(effect: Effect<'_>) -> Result<(), StepError> {
    let Some(work) = work(&effect.input()) else {
        return Ok(());
    };
    let control_plane = control_plane(effect).await?;
    work.query(control_plane.as_ref()).await.map(drop)
}

impl Step for NodeUpgraded {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        work(input).map(|work| work.plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), wait(effect).await) }.boxed()
    }
}
