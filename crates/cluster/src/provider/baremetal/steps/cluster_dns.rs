//! `EnsureClusterDNS`: waits until kube-proxy and the DNS server of the cluster run.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::cluster::PodNetwork;

use crate::provider::baremetal::work::Work;
use crate::{Effect, Report, Step, StepError, StepInput, StepPlan};

pub(super) struct ClusterDns;

fn work() -> Work {
    let script = include_str!("../scripts/cluster_dns.sh");
    Work::new("wait for kube-proxy and the DNS server", script)
}

impl Step for ClusterDns {
    fn plan(&self, input: &StepInput<'_>) -> Option<StepPlan> {
        let is_ours = input.cluster.spec.pod_network == PodNetwork::Routes;
        is_ours.then(|| work().plan())
    }

    fn run<'a>(&'a self, effect: Effect<'a>) -> BoxFuture<'a, (Report, Result<(), StepError>)> {
        async move {
            let waited = work().query(effect.remote).await;
            (Report::default(), waited.map(drop))
        }
        .boxed()
    }
}
