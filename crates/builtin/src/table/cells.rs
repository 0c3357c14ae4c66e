//! Dispatches to the table cells of the built-in kinds, and formats cells that several kinds share.

use serde_json::Value;

use super::moment::Now;
use super::{cluster, networking, storage, workload};
use crate::apps::{daemon_set, deployment, replica_set, stateful_set};
use crate::autoscaling::horizontal_pod_autoscaler;
use crate::batch::{cron_job, job};
use crate::core::{
    config_map, endpoints, persistent_volume, persistent_volume_claim, pod, pod_template,
    replication_controller, secret, service,
};
use crate::discovery::endpoint_slice;
use crate::fields::{list, text};
use crate::kinds::Kind;
use crate::networking::{ingress, ingress_class, network_policy};
use crate::policy::pod_disruption_budget;
use crate::selector::LabelSelector;
use crate::storage::storage_class;

type Cells = fn(&Value, Now) -> Vec<Value>;

/// The cells of a stored object.
pub(crate) fn of(kind: &Kind, object: &Value, now: Now) -> Vec<Value> {
    let cells: Cells = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::table::cells,
        ("", "PodTemplate") => pod_template::cells,
        ("", "ReplicationController") => replication_controller::cells,
        ("apps", "Deployment") => deployment::cells,
        ("apps", "ReplicaSet") => replica_set::cells,
        ("apps", "StatefulSet") => stateful_set::cells,
        ("apps", "DaemonSet") => daemon_set::cells,
        ("apps", "ControllerRevision") => workload::controller_revision,
        ("batch", "Job") => job::cells,
        ("batch", "CronJob") => cron_job::cells,
        ("autoscaling", "HorizontalPodAutoscaler") => horizontal_pod_autoscaler::cells,
        ("policy", "PodDisruptionBudget") => pod_disruption_budget::cells,
        ("", "Service") => service::table::cells,
        ("", "Endpoints") => endpoints::cells,
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice::cells,
        ("networking.k8s.io", "Ingress") => ingress::cells,
        ("networking.k8s.io", "IngressClass") => ingress_class::cells,
        ("networking.k8s.io", "NetworkPolicy") => network_policy::cells,
        ("networking.k8s.io", "ServiceCIDR") => networking::service_cidr,
        ("networking.k8s.io", "IPAddress") => networking::ip_address,
        ("", "ConfigMap") => config_map::cells,
        ("", "Secret") => secret::cells,
        ("", "PersistentVolume") => persistent_volume::cells,
        ("", "PersistentVolumeClaim") => persistent_volume_claim::cells,
        ("storage.k8s.io", "StorageClass") => storage_class::cells,
        ("storage.k8s.io", "CSIDriver") => storage::driver,
        ("storage.k8s.io", "CSINode") => storage::driver_node,
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment,
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class,
        _ => return cluster::of(kind, object, now),
    };
    cells(object, now)
}

pub(crate) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

pub(crate) fn age(object: &Value, now: Now) -> Value {
    now.since(object["metadata"]["creationTimestamp"].as_str())
        .into()
}

/// A string field, or a default if it is empty.
pub(crate) fn text_or<'a>(object: &'a Value, key: &str, default: &'a str) -> &'a str {
    match text(object, key) {
        "" => default,
        text => text,
    }
}

/// The items of a list of strings.
pub(crate) fn strings<'a>(object: &'a Value, key: &str) -> Vec<&'a str> {
    let items = list(object, key).iter();
    items.filter_map(Value::as_str).collect()
}

/// The names and the images of the containers, comma-separated.
pub(crate) fn containers(pod_spec: &Value) -> [Value; 2] {
    ["name", "image"].map(|key| {
        let containers = list(pod_spec, "containers").iter();
        let all: Vec<_> = containers.map(|container| text(container, key)).collect();
        all.join(",").into()
    })
}

/// Labels as `a=b,c=d`.
pub(crate) fn format_labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<_> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        return "<none>".to_owned();
    }
    pairs.join(",")
}

/// A selector in query syntax, `<none>` if it is empty or absent.
pub(crate) fn format_selector(selector: &Value) -> String {
    match selector_requirements(selector).as_str() {
        "" => "<none>".to_owned(),
        text => text.to_owned(),
    }
}

/// A selector in query syntax, empty if it is empty or absent.
pub(crate) fn selector_requirements(selector: &Value) -> String {
    let Some(mut selector) = LabelSelector::of_object(selector) else {
        return String::new();
    };
    selector.requirements.sort_by(|a, b| a.key.cmp(&b.key));
    for requirement in &mut selector.requirements {
        requirement.values.sort();
    }
    selector.to_string()
}

/// The first items, and the number of further ones.
pub(crate) fn some_of(items: &[String], max: usize) -> String {
    let shown = items.iter().take(max).cloned().collect::<Vec<_>>();
    let shown = shown.join(",");
    match items.len().checked_sub(max) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

/// Whether an object has a condition of this type and status.
pub(crate) fn has_condition(object: &Value, type_: &str, state: &str) -> bool {
    list(&object["status"], "conditions")
        .iter()
        .any(|condition| condition["type"] == type_ && condition["status"] == state)
}
