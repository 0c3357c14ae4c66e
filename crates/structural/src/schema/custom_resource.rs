//! Decoding of custom resources: prunes unknown fields and normalizes metadata.

use outrigger_apimachinery::status::field;
use serde_json::{Map, Value};

use super::{SchemaRef, prune_nulls, prune_unknown};
use crate::go_types::{self, DecodeError};

/// Prunes and normalizes a custom resource, without defaulting. Returns the paths of the unknown fields.
pub fn coerce(object: &mut Value, schema: SchemaRef<'_>) -> Result<Vec<String>, DecodeError> {
    let mut unknown = match object.get_mut("metadata") {
        Some(metadata) => coerce_metadata(metadata, "metadata")?,
        None => Vec::new(),
    };
    unknown.extend(prune_unknown(object, schema));
    prune_nulls(object, schema);
    let mut embedded = Vec::new();
    coerce_embedded("", object, schema, &mut embedded)?;
    embedded.sort();
    unknown.extend(embedded);
    normalize_numbers(object);
    Ok(unknown)
}

/// Normalizes a merged custom resource as encoding does: drops empty labels, writes `1.0` as `1`.
pub fn normalize(object: &mut Value) {
    if let (Some(metadata), Some(id)) = (object.get_mut("metadata"), go_types::object_meta()) {
        go_types::normalize(id, metadata);
    }
    normalize_numbers(object);
}

/// Turns floats that are whole numbers into integers.
fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| {
                number.is_f64() && float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0
            });
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole, and within the range of exact integers"
            )]
            if let Some(whole) = whole {
                *value = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn coerce_metadata(metadata: &mut Value, path: &str) -> Result<Vec<String>, DecodeError> {
    let Some(id) = go_types::object_meta() else {
        return Ok(Vec::new());
    };
    let unknown = go_types::decode(id, metadata)?;
    go_types::normalize(id, metadata);
    let unknown = unknown.iter().map(|name| format!("{path}.{name}"));
    Ok(unknown.collect())
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn coerce_embedded(
    path: &str,
    value: &mut Value,
    schema: SchemaRef<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                coerce_embedded_resource(path, fields, unknown)?;
            }
            for (name, value) in fields {
                if let Some(property) = schema.property(name) {
                    coerce_embedded(&join(path, name), value, property, unknown)?;
                } else if let Some(additional) = schema.additional() {
                    coerce_embedded(&format!("{path}[{name}]"), value, additional, unknown)?;
                }
            }
            Ok(())
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else {
                return Ok(());
            };
            let mut items = items.iter_mut().enumerate();
            items.try_for_each(|(i, item)| {
                coerce_embedded(&format!("{path}[{i}]"), item, schema, unknown)
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn coerce_embedded_resource(
    path: &str,
    fields: &mut Map<String, Value>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    for name in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_string()) {
            let error = field::Error::invalid(join(path, name), value.clone(), "must be a string");
            return Err(DecodeError::from(error));
        }
    }
    let Some(metadata) = fields.get_mut("metadata") else {
        return Ok(());
    };
    let field = join(path, "metadata");
    let original = metadata.clone();
    let result = coerce_metadata(metadata, &field);
    let invalid = |error: DecodeError| field::Error::invalid(field, original, error.to_string());
    unknown.extend(result.map_err(|error| DecodeError::from(invalid(error)))?);
    Ok(())
}
