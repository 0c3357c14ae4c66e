//! Objects that Helm wrote from the client's side: its fields become applied ones, so that those which are no longer
//! wanted go when we apply.

use serde_json::{Map, Value, json};

use super::managers;
use crate::ownership::MANAGER;

fn is_update(entry: &Value) -> bool {
    entry["manager"] == MANAGER
        && entry["operation"] == "Update"
        && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// Whether Helm wrote fields from the client's side.
pub(crate) fn needs_migration(live: &Value) -> bool {
    managers(live).iter().any(is_update)
}

/// The JSON patch that moves those fields. It fails if somebody else changed the object in the meantime.
pub(crate) fn migration(live: &Value) -> Value {
    let mut fields = Map::new();
    let mut version = Value::Null;
    let mut rest = Vec::new();
    for entry in managers(live) {
        let is_applied = entry["manager"] == MANAGER
            && entry["operation"] == "Apply"
            && entry["subresource"].as_str().unwrap_or_default().is_empty();
        if !is_applied && !is_update(entry) {
            rest.push(entry.clone());
            continue;
        }
        if version.is_null() || is_applied {
            version = entry["apiVersion"].clone();
        }
        if let Some(more) = entry["fieldsV1"].as_object() {
            unite(&mut fields, more);
        }
    }
    let time = managers(live).iter().find(|entry| is_update(entry));
    let mut applied = json!({
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if let Some(entry) = time.filter(|entry| entry["time"].is_string()) {
        applied["time"] = entry["time"].clone();
    }
    rest.insert(0, applied);
    json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": rest},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ])
}

fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, below) in more {
        match (fields.get_mut(key), below) {
            (Some(Value::Object(known)), Value::Object(below)) => unite(known, below),
            (Some(_), _) => {}
            (None, below) => {
                fields.insert(key.clone(), below.clone());
            }
        }
    }
}
