//! `EnsureNodeReady`: waits until a machine is a node that is ready. Without a network of ours, that it is a node is enough.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::cluster::PodNetwork;

use super::control_plane;
use super::nodes::nodes;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct NodeReady;

async fn wait(effect: Effect<'_>) -> Result<(), StepError> {
    let (node, _) = nodes(effect).await?;
    if effect.cluster.spec.pod_network == PodNetwork::None {
        return Ok(());
    }
    let control_plane = control_plane(effect).await?;
    let work = Work::new(
        format!("wait for node {}", node.name),
        include_str!("../scripts/node_ready.sh"),
    );
    let work = work.with("NODE", node.name);
    work.query(control_plane.as_ref()).await.map(drop)
}

impl Step for NodeReady {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        Some(StepPlan {
            digest: digest(&[&address]),
            text: "wait until the node is ready".to_owned(),
        })
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), wait(effect).await) }.boxed()
    }
}
