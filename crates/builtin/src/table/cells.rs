//! Which cells a built-in kind has, and what several kinds share.

use serde_json::Value;

use super::moment::Now;
use super::{cluster, networking, pod, storage, workload};
use crate::kinds::Kind;
use crate::selector::LabelSelector;

type Cells = fn(&Value, Now) -> Vec<Value>;

/// The cells of an object in its stored form.
pub(super) fn of(kind: &Kind, object: &Value, now: Now) -> Vec<Value> {
    let cells: Cells = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::cells,
        ("", "PodTemplate") => workload::pod_template,
        ("", "ReplicationController") => workload::replication_controller,
        ("apps", "Deployment") => workload::deployment,
        ("apps", "ReplicaSet") => workload::replica_set,
        ("apps", "StatefulSet") => workload::stateful_set,
        ("apps", "DaemonSet") => workload::daemon_set,
        ("apps", "ControllerRevision") => workload::controller_revision,
        ("batch", "Job") => workload::job,
        ("batch", "CronJob") => workload::cron_job,
        ("autoscaling", "HorizontalPodAutoscaler") => workload::autoscaler,
        ("policy", "PodDisruptionBudget") => workload::disruption_budget,
        ("", "Service") => networking::service,
        ("", "Endpoints") => networking::endpoints,
        ("discovery.k8s.io", "EndpointSlice") => networking::endpoint_slice,
        ("networking.k8s.io", "Ingress") => networking::ingress,
        ("networking.k8s.io", "IngressClass") => networking::ingress_class,
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy,
        ("networking.k8s.io", "ServiceCIDR") => networking::service_cidr,
        ("networking.k8s.io", "IPAddress") => networking::ip_address,
        ("", "ConfigMap") => storage::config_map,
        ("", "Secret") => storage::secret,
        ("", "PersistentVolume") => storage::volume,
        ("", "PersistentVolumeClaim") => storage::claim,
        ("storage.k8s.io", "StorageClass") => storage::storage_class,
        ("storage.k8s.io", "CSIDriver") => storage::driver,
        ("storage.k8s.io", "CSINode") => storage::driver_node,
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment,
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class,
        _ => return cluster::of(kind, object, now),
    };
    cells(object, now)
}

pub(super) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

pub(super) fn age(object: &Value, now: Now) -> Value {
    now.since(object["metadata"]["creationTimestamp"].as_str())
        .into()
}

/// A text field, empty if absent.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

/// A text field, or what stands for nothing.
pub(super) fn text_or<'a>(object: &'a Value, key: &str, nothing: &'a str) -> &'a str {
    match text(object, key) {
        "" => nothing,
        text => text,
    }
}

/// A number field, zero if absent.
pub(super) fn number(object: &Value, key: &str) -> i64 {
    object[key].as_i64().unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

/// The items of a list as texts.
pub(super) fn texts<'a>(object: &'a Value, key: &str) -> Vec<&'a str> {
    let items = list(object, key).iter();
    items.filter_map(Value::as_str).collect()
}

/// Names and images of containers, each joined by commas.
pub(super) fn containers(pod_spec: &Value) -> [Value; 2] {
    ["name", "image"].map(|key| {
        let containers = list(pod_spec, "containers").iter();
        let all: Vec<_> = containers.map(|container| text(container, key)).collect();
        all.join(",").into()
    })
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<_> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        return "<none>".to_owned();
    }
    pairs.join(",")
}

/// A selector as a client would write it; an absent one selects nothing and is written as nothing too.
pub(super) fn selector(selector: &Value) -> String {
    match selector_text(selector).as_str() {
        "" => "<none>".to_owned(),
        text => text.to_owned(),
    }
}

/// The same, empty if it selects everything or nothing.
pub(super) fn selector_text(selector: &Value) -> String {
    let Some(mut selector) = LabelSelector::of_object(selector) else {
        return String::new();
    };
    selector.requirements.sort_by(|a, b| a.key.cmp(&b.key));
    for requirement in &mut selector.requirements {
        requirement.values.sort();
    }
    selector.to_string()
}

/// A few items, and how many more there are.
pub(super) fn some_of(items: &[String], most: usize) -> String {
    let shown = items.iter().take(most).cloned().collect::<Vec<_>>();
    let shown = shown.join(",");
    match items.len().checked_sub(most) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

/// Whether an object has a condition of some type and state.
pub(super) fn has_condition(object: &Value, type_: &str, state: &str) -> bool {
    list(&object["status"], "conditions")
        .iter()
        .any(|condition| condition["type"] == type_ && condition["status"] == state)
}
