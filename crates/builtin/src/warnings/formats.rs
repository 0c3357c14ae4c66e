//! Formats in the schemas of a `CustomResourceDefinition` that nothing validates.

use outrigger_structural::schema::is_recognized_format;
use serde_json::Value;

use crate::fields::{list, text};

/// Schemas deeper than this were rejected before.
const MAX_DEPTH: usize = 200;

pub(super) fn unrecognized(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(formats).unwrap_or_default();
    let mut added = formats(new);
    added.retain(|format| !known.contains(format));
    added.dedup();
    added
        .iter()
        .map(|format| format!("unrecognized format \"{format}\""))
        .collect()
}

fn formats(definition: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for version in list(&definition["spec"], "versions") {
        collect(&version["schema"]["openAPIV3Schema"], &mut found, MAX_DEPTH);
    }
    found
}

/// Collects the formats down to a depth.
fn collect(schema: &Value, found: &mut Vec<String>, depth: usize) {
    let (Some(fields), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    let format = text(schema, "format");
    if !format.is_empty() && !is_recognized_format(text(schema, "type"), format) {
        found.push(format.to_owned());
    }
    for (name, value) in fields {
        match (name.as_str(), value) {
            (
                "properties" | "patternProperties" | "definitions" | "dependencies",
                Value::Object(all),
            ) => {
                for schema in all.values() {
                    collect(schema, found, depth);
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(all)) => {
                for schema in all {
                    collect(schema, found, depth);
                }
            }
            ("items" | "additionalProperties" | "additionalItems" | "not", schema) => {
                collect(schema, found, depth);
            }
            _ => {}
        }
    }
}
