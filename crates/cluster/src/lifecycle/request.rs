//! Flows that users ask for, by annotations of the cluster.

use outrigger_api::cluster::{Cluster, ClusterType};
use outrigger_api::step::FlowName;

/// What a user asks for by the annotation of a flow.
pub fn request(cluster: &Cluster, flow: FlowName) -> Option<&str> {
    let annotations = cluster.metadata.annotations.as_ref()?;
    let value = annotations.get(flow.request()?)?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// Whether a user asks for a flow that was not run for that.
pub(super) fn is_requested(cluster: &Cluster, flow: FlowName) -> bool {
    let requests = cluster.status.as_ref().map(|status| &status.requests);
    let handled = requests.and_then(|requests| requests.get(flow.as_str()));
    let is_baremetal = cluster.spec.kind == ClusterType::Baremetal;
    is_baremetal
        && request(cluster, flow).is_some_and(|request| handled.is_none_or(|it| it != request))
}
