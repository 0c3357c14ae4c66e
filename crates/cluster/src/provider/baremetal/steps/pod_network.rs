//! `EnsurePodNetwork`: a bridge for the pods of a machine, and routes between it and all other machines.
//!
//! Of two machines that join at the same time, the one that was registered later sees the other, and makes both routes.

use futures::FutureExt as _;
use futures::future::{BoxFuture, try_join_all};
use outrigger_api::cluster::PodNetwork;

use super::is_first;
use super::nodes::{Node, nodes};
use crate::changes::{Change, written_by};
use crate::lifecycle::installed_version;
use crate::provider::baremetal::network::pod_cidr;
use crate::provider::baremetal::work::Work;
use crate::steps::digest;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct PodNetworkStep;

impl PodNetworkStep {
    async fn connect(effect: Effect<'_>) -> Result<(), StepError> {
        let (own, others) = nodes(effect).await?;
        let input = effect.input();
        if is_first(&input) && installed_version(effect.cluster).is_none() {
            // The first pods are those of the cluster DNS.
            let script = include_str!("../scripts/api_service.sh");
            let waiting = Work::new("wait for the service of the API server", script);
            waiting.query(effect.remote).await?;
        }
        let routes = others.iter().filter(|node| !node.range.is_empty());
        let routes: Vec<String> = routes
            .map(|node| format!("{} {}", node.range, node.address))
            .collect();
        Work::new(
            "make the pod network",
            include_str!("../scripts/pod_network.sh"),
        )
        .with("RANGE", &own.range)
        .with("ROUTES", routes.join("\n"))
        .attempt(effect, &[])
        .await?;
        let added = others.iter().map(|node| add_route(effect, &own, node));
        try_join_all(added).await.map(drop)
    }
}

/// Makes the route from another machine to this one.
async fn add_route(effect: Effect<'_>, own: &Node, other: &Node) -> Result<(), StepError> {
    let machines = effect.peers.machines();
    let mut machines = machines.iter();
    let Some(machine) = machines.find(|machine| machine.spec.access.ip == other.address) else {
        return Ok(());
    };
    let remote = effect.peers.connect(machine).await?;
    Work::new(
        format!("make the route from {}", other.name),
        include_str!("../scripts/add_route.sh"),
    )
    .with("RANGE", &own.range)
    .with("VIA", &own.address)
    .query(remote.as_ref())
    .await
    .map(drop)
}

impl Step for PodNetworkStep {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let address = input.machine?.spec.access.address();
        let is_ours = input.cluster.spec.pod_network == PodNetwork::Routes;
        is_ours.then(|| StepPlan {
            digest: digest(&[&address, pod_cidr(input.cluster)]),
            text: "make a bridge for pods, and routes to and from all machines".to_owned(),
        })
    }

    fn changes(&self, input: &StepInput<'_>) -> Vec<Change> {
        if self.plan(input).is_none() {
            return Vec::new();
        }
        written_by(include_str!("../scripts/pod_network.sh"))
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move { (Report::default(), Self::connect(effect).await) }.boxed()
    }

    fn is_detached(&self) -> bool {
        true
    }
}
