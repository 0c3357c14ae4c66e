//! What an endpoint lets a write change: of all that is sent, the rest stays as it was.

use outrigger_builtin::kinds::Kind;
use outrigger_builtin::prepare;
use serde_json::Value;

use crate::verbs::decode::metadata_of;

/// Prepares an object that is written through an endpoint: the main one, or one below.
pub(super) fn prepare(kind: &Kind, subresource: &str, new: &mut Value, old: &Value, now: &str) {
    match subresource {
        "status" => prepare::update_status(kind, new, old, now),
        "finalize" => keep_all_but(new, old, "spec", "finalizers"),
        "approval" => keep_all_but(new, old, "status", "conditions"),
        "ephemeralcontainers" => {
            keep_all_but(new, old, "spec", "ephemeralContainers");
            if new["spec"] != old["spec"] {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
                metadata_of(new).insert("generation".to_owned(), (generation + 1).into());
            }
        }
        _ => prepare::update(kind, new, old),
    }
    let version = old["metadata"]["resourceVersion"].clone();
    metadata_of(new).insert("resourceVersion".to_owned(), version);
}

/// Takes one field, and the owners of fields, from the new object and all else from the old.
fn keep_all_but(new: &mut Value, old: &Value, part: &str, field: &str) {
    let value = new[part].get(field).cloned();
    let managed = new["metadata"].get("managedFields").cloned();
    *new = old.clone();
    if !new[part].is_object() {
        new[part] = serde_json::json!({});
    }
    if let Value::Object(part) = &mut new[part] {
        part.remove(field);
        part.extend(value.map(|value| (field.to_owned(), value)));
    }
    if let Some(managed) = managed {
        metadata_of(new).insert("managedFields".to_owned(), managed);
    }
}
