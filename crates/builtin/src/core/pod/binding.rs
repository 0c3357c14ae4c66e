//! The `binding` subresource.

use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use serde_json::{Value, json};

/// Assigns a Pod to a node and records that it is scheduled.
///
/// # Errors
/// A 409 if the Pod has a node already or is being deleted.
pub fn assign_node(pod: &mut Value, name: &str, node: &str, now: &str) -> Result<(), Status> {
    let conflict = |reason| {
        let resource = GroupResource::new("", "pods/binding");
        Err(Status::conflict(resource, name, reason))
    };
    let current = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !current.is_empty() {
        return conflict(format!(
            "pod {name} is already assigned to node \"{current}\""
        ));
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    pod["spec"]["nodeName"] = json!(node);
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
        }));
    }
    Ok(())
}
