//! Upgrade from client-side to server-side apply: the fields that Helm set by updates become applied fields, so that the
//! next apply removes those that are no longer desired. Like client-go's `csaupgrade`.

use serde_json::{Map, Value, json};

use super::{is_ours, managed_fields};
use crate::ownership::FIELD_MANAGER;

/// Whether Helm set fields client-side.
pub(crate) fn needs_upgrade(live: &Value) -> bool {
    managed_fields(live)
        .iter()
        .any(|entry| is_ours(entry, "Update"))
}

/// The JSON patch that makes the fields applied ones. It fails if the object has changed meanwhile.
pub(crate) fn upgrade_patch(live: &Value) -> Value {
    let mut fields = Map::new();
    let mut version = Value::Null;
    let mut entries = Vec::new();
    for entry in managed_fields(live) {
        let is_applied = is_ours(entry, "Apply");
        if !is_applied && !is_ours(entry, "Update") {
            entries.push(entry.clone());
            continue;
        }
        if version.is_null() || is_applied {
            version = entry["apiVersion"].clone();
        }
        if let Some(more) = entry["fieldsV1"].as_object() {
            merge(&mut fields, more);
        }
    }
    let mut applied = json!({
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    let updated = managed_fields(live)
        .iter()
        .find(|entry| is_ours(entry, "Update"));
    if let Some(entry) = updated.filter(|entry| entry["time"].is_string()) {
        applied["time"] = entry["time"].clone();
    }
    entries.insert(0, applied);
    json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ])
}

fn merge(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, below) in more {
        match (fields.get_mut(key), below) {
            (Some(Value::Object(known)), Value::Object(below)) => merge(known, below),
            (Some(_), _) => {}
            (None, below) => {
                fields.insert(key.clone(), below.clone());
            }
        }
    }
}
