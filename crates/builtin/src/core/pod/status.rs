//! The initial status of a Pod, and its `QoS` class.

use outrigger_apimachinery::quantity::Quantity;
use serde_json::{Map, Value, json};

use crate::fields::object_mut;

pub(crate) fn initialize(pod: &mut Map<String, Value>, now: &str) {
    let spec = pod.get("spec").cloned().unwrap_or_default();
    let mut status = json!({"phase": "Pending", "qosClass": qos_class(&spec)});
    let gates = spec["schedulingGates"].as_array();
    if gates.is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastTransitionTime": now,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod.insert("status".to_owned(), status);
}

pub(crate) fn keep_qos_class(pod: &mut Map<String, Value>, old: &Value) {
    if let Some(status) = object_mut(pod, "status") {
        let class = &old["status"]["qosClass"];
        if !status.contains_key("qosClass") && !class.is_null() {
            status.insert("qosClass".to_owned(), class.clone());
        }
    }
}

/// `podIP` is the first of `podIPs`. If both are sent and differ, `podIP` wins.
pub(crate) fn sync_addresses(status: &mut Map<String, Value>) {
    sync_plural(status, "podIP", "podIPs", |address| json!({"ip": address}));
}

/// Does the same for a field and the list that superseded it.
pub(crate) fn sync_plural(
    object: &mut Map<String, Value>,
    singular: &str,
    plural: &str,
    item: fn(&Value) -> Value,
) {
    let first = object.get(plural).and_then(|list| list.get(0));
    match (object.get(singular), first) {
        (Some(one), first) => {
            let wanted = item(one);
            if first != Some(&wanted) {
                object.insert(plural.to_owned(), json!([wanted]));
            }
        }
        (None, Some(first)) => {
            let one = first.get("ip").unwrap_or(first).clone();
            object.insert(singular.to_owned(), one);
        }
        (None, None) => {}
    }
}

/// The `QoS` class, by requests and limits.
pub fn qos_class(spec: &Value) -> &'static str {
    let pod_level = &spec["resources"];
    if pod_level.is_object() {
        return qos_class_of(&[pod_level]);
    }
    let containers = ["containers", "initContainers"]
        .iter()
        .filter_map(|list| spec[*list].as_array())
        .flatten()
        .map(|container| &container["resources"]);
    qos_class_of(&containers.collect::<Vec<_>>())
}

fn qos_class_of(all: &[&Value]) -> &'static str {
    const COUNTED: [&str; 2] = ["cpu", "memory"];
    let amount = |resources: &Value, part: &str, name: &str| -> Option<Quantity> {
        let quantity = Quantity::parse(resources[part][name].as_str()?).ok()?;
        (!quantity.is_zero()).then_some(quantity)
    };
    let has_resources = |resources: &&Value| {
        COUNTED.iter().any(|name| {
            amount(resources, "requests", name).is_some()
                || amount(resources, "limits", name).is_some()
        })
    };
    if !all.iter().any(has_resources) {
        return "BestEffort";
    }
    let is_guaranteed = |resources: &&Value| {
        COUNTED.iter().all(|name| {
            let limit = amount(resources, "limits", name);
            limit.is_some() && amount(resources, "requests", name) == limit
        })
    };
    if all.iter().all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
