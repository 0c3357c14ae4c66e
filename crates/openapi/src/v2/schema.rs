//! Converts a schema to OpenAPI v2.

use serde_json::{Map, Value, json};

use crate::REFERENCE;

/// Schemas were accepted up to a lesser depth.
const MAX_DEPTH: usize = 200;

/// Converts a definition. Custom resources lose what kubectl's validation of v2 schemas cannot handle.
pub(super) fn convert(mut definition: Value, is_custom: bool) -> Value {
    if is_custom {
        if definition["x-kubernetes-preserve-unknown-fields"] == true {
            // With properties, kubectl would reject all others.
            let tag = &definition["x-kubernetes-group-version-kind"];
            return json!({"type": "object", "x-kubernetes-group-version-kind": tag});
        }
        let properties = definition.get_mut("properties");
        if let Some(properties) = properties.and_then(Value::as_object_mut) {
            for (name, property) in properties {
                if name != "metadata" {
                    simplify(property, MAX_DEPTH);
                }
            }
        }
        drop_junctors(&mut definition);
    }
    rename_references(&mut definition);
    definition
}

/// `ToStructuralOpenAPIV2`.
fn simplify(schema: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    drop_junctors(schema);
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    drop_nullable_requirements(fields);
    let is_true = |fields: &Map<String, Value>, key: &str| fields.get(key) == Some(&json!(true));
    let is_nullable = is_true(fields, "nullable");
    let preserves = is_true(fields, "x-kubernetes-preserve-unknown-fields");
    fields.remove("nullable");
    if is_nullable {
        fields.remove("type");
    }
    if is_nullable || preserves {
        fields.remove("items");
        fields.remove("properties");
    }
    let type_ = fields.get("type").and_then(Value::as_str);
    let is_bare_list = type_ == Some("array") && !fields.contains_key("items");
    if is_bare_list || preserves && type_ == Some("object") {
        fields.remove("type");
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(key) {
            simplify(inner, depth);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut() {
            simplify(property, depth);
        }
    }
}

fn drop_junctors(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        for key in ["allOf", "anyOf", "oneOf", "not"] {
            fields.remove(key);
        }
    }
}

/// Properties that may be null are not required any more.
fn drop_nullable_requirements(fields: &mut Map<String, Value>) {
    let nullable: Vec<String> = fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, property)| property["nullable"] == true)
        .map(|(name, _)| name.clone())
        .collect();
    let Some(Value::Array(required)) = fields.get_mut("required") else {
        return;
    };
    required.retain(|name| !nullable.iter().any(|nullable| name == nullable));
    if required.is_empty() {
        fields.remove("required");
    }
}

/// Renames references, and replaces what only v3 has: references in `allOf`, and alternatives of types.
pub(super) fn rename_references(value: &mut Value) {
    rename(value, MAX_DEPTH);
}

fn rename(value: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(all)) = fields.get("allOf")
                && let [only] = all.as_slice()
                && let Some(reference) = only.get("$ref").cloned()
            {
                fields.remove("allOf");
                fields.insert("$ref".to_owned(), reference);
            }
            if fields.get("oneOf").is_some_and(Value::is_array) {
                fields.remove("oneOf");
                fields.insert("type".to_owned(), "string".into());
            }
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some(name) = reference.strip_prefix(REFERENCE)
            {
                *reference = format!("#/definitions/{name}");
            }
            for value in fields.values_mut() {
                rename(value, depth);
            }
        }
        Value::Array(items) => {
            for item in items {
                rename(item, depth);
            }
        }
        _ => {}
    }
}
