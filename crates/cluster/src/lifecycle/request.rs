//! Flows that users ask for: by annotations of the cluster, or by another list of mirrors.

use std::borrow::Cow;

use outrigger_api::cluster::{Cluster, ClusterType};
use outrigger_api::step::FlowName;

use crate::steps::digest;

/// What a user asks for by the annotation of a flow, or the mirrors of registries that machines should have.
pub fn request(cluster: &Cluster, flow: FlowName) -> Option<Cow<'_, str>> {
    if flow == FlowName::UpdateRegistries {
        return mirrors(cluster).map(Cow::Owned);
    }
    annotated_request(cluster, flow).map(Cow::Borrowed)
}

/// What a user asks for by the annotation of a flow.
pub fn annotated_request(cluster: &Cluster, flow: FlowName) -> Option<&str> {
    let annotations = cluster.metadata.annotations.as_ref()?;
    let value = annotations.get(flow.request()?)?;
    Some(value.as_str()).filter(|value| !value.is_empty())
}

/// Identifies the mirrors of the spec; `None` if there are none, and machines have none.
fn mirrors(cluster: &Cluster) -> Option<String> {
    let mirrors = &cluster.spec.registry_mirrors;
    if mirrors.is_empty() && handled(cluster, FlowName::UpdateRegistries).is_none() {
        return None;
    }
    let text = serde_json::to_string(mirrors).unwrap_or_default();
    Some(digest(&[&text]))
}

/// What the flow was run for last.
fn handled(cluster: &Cluster, flow: FlowName) -> Option<&str> {
    let requests = &cluster.status.as_ref()?.requests;
    requests.get(flow.as_str()).map(String::as_str)
}

/// Whether a user asks for a flow that was not run for that.
pub(super) fn is_requested(cluster: &Cluster, flow: FlowName) -> bool {
    let is_baremetal = cluster.spec.kind == ClusterType::Baremetal;
    let request = request(cluster, flow);
    is_baremetal && request.is_some_and(|it| handled(cluster, flow) != Some(&it))
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::{ClusterSpec, RegistryMirror};

    use super::*;

    #[test]
    fn other_mirrors_are_a_request_and_so_is_the_removal_of_the_last_one() {
        let flow = FlowName::UpdateRegistries;
        let mut cluster = Cluster::new("a", ClusterSpec::default());
        assert!(!is_requested(&cluster, flow));
        let mirror = RegistryMirror {
            registry: "*".to_owned(),
            url: "https://a".to_owned(),
            ..RegistryMirror::default()
        };
        cluster.spec.registry_mirrors.push(mirror);
        let handle = |cluster: &mut Cluster| {
            let request = request(cluster, flow).unwrap().into_owned();
            let status = cluster.status.get_or_insert_default();
            status.requests.insert(flow.as_str().to_owned(), request);
        };
        assert!(is_requested(&cluster, flow));
        handle(&mut cluster);
        assert!(!is_requested(&cluster, flow));
        "https://b".clone_into(&mut cluster.spec.registry_mirrors[0].url);
        assert!(is_requested(&cluster, flow));
        handle(&mut cluster);
        cluster.spec.registry_mirrors.clear();
        assert!(is_requested(&cluster, flow));
        handle(&mut cluster);
        assert!(!is_requested(&cluster, flow));
    }
}
