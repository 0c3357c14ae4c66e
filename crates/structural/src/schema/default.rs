//! Defaulting.

use serde_json::Value;

use super::SchemaRef;

/// Sets fields that are missing, or null and not nullable, to their defaults, from the outside in: a defaulted object
/// is itself defaulted.
pub fn apply_defaults(value: &mut Value, schema: SchemaRef<'_>) {
    match value {
        Value::Object(fields) => {
            for (name, property) in schema.properties() {
                let Some(default) = &property.node().default else {
                    continue;
                };
                let is_missing = match fields.get(name) {
                    None => true,
                    Some(value) => value.is_null() && !property.nullable,
                };
                if is_missing {
                    fields.insert(name.to_owned(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                match (schema.property(name), schema.additional()) {
                    (Some(property), _) => apply_defaults(value, property),
                    (None, Some(additional)) => default_item(value, additional),
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for item in items {
                    default_item(item, schema);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Items are never missing; only null is replaced.
fn default_item(value: &mut Value, schema: SchemaRef<'_>) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or(Value::Null);
    }
    apply_defaults(value, schema);
}
