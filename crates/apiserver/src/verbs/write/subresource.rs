//! What an update through the main resource or a subresource may change; the rest is kept.

use outrigger_builtin::kinds::Kind;
use outrigger_builtin::prepare;
use serde_json::Value;

use crate::verbs::decode::metadata_of;

pub(super) fn prepare_for_update(
    kind: &Kind,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    now: &str,
) {
    match subresource {
        "status" => prepare::update_status(kind, new, old, now),
        "finalize" => {
            let finalizers = new["spec"].get("finalizers").cloned();
            prepare::update(kind, new, old);
            set_field(new, "spec", "finalizers", finalizers);
        }
        "approval" => {
            prepare::update_status(kind, new, old, now);
            let conditions = new["status"].get("conditions").cloned();
            new["status"] = old["status"].clone();
            set_field(new, "status", "conditions", conditions);
        }
        "ephemeralcontainers" => {
            keep_all_but(new, old, "spec", "ephemeralContainers");
            if new["spec"] != old["spec"] {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
                let next = generation.wrapping_add(1);
                metadata_of(new).insert("generation".to_owned(), next.into());
            }
        }
        _ => prepare::update(kind, new, old),
    }
    let version = old["metadata"]["resourceVersion"].clone();
    metadata_of(new).insert("resourceVersion".to_owned(), version);
}

/// Keeps the old object except for one field and the managed fields.
fn keep_all_but(new: &mut Value, old: &Value, part: &str, field: &str) {
    let value = new[part].get(field).cloned();
    let managed = new["metadata"].get("managedFields").cloned();
    *new = old.clone();
    set_field(new, part, field, value);
    if let Some(managed) = managed {
        metadata_of(new).insert("managedFields".to_owned(), managed);
    }
}

/// Sets or removes a field of a part of an object, such as `status.conditions`.
fn set_field(object: &mut Value, part: &str, field: &str, value: Option<Value>) {
    if !object[part].is_object() {
        object[part] = serde_json::json!({});
    }
    if let Value::Object(part) = &mut object[part] {
        part.remove(field);
        part.extend(value.map(|value| (field.to_owned(), value)));
    }
}
