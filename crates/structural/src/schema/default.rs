//! Defaulting.

use serde_json::{Map, Value};

use super::SchemaRef;

/// How many bytes of defaults are added to an object. An object that needs more is larger than any that can be stored.
const MAX_DEFAULTS: usize = 8 * 1024 * 1024;

/// Sets fields that are missing, or null and not nullable, to their defaults, from the outside in: a defaulted object
/// is itself defaulted. Ends when it has added more than [`MAX_DEFAULTS`].
pub fn apply_defaults(value: &mut Value, schema: SchemaRef<'_>) {
    Defaulting { left: MAX_DEFAULTS }.apply(value, schema);
}

struct Defaulting {
    /// How many bytes of JSON may still be added.
    left: usize,
}

impl Defaulting {
    fn apply(&mut self, value: &mut Value, schema: SchemaRef<'_>) {
        match value {
            Value::Object(fields) => {
                self.add_missing(fields, schema);
                for (name, value) in fields.iter_mut() {
                    match (schema.property(name), schema.additional()) {
                        (Some(property), _) => self.apply(value, property),
                        (None, Some(additional)) => self.apply_to_item(value, additional),
                        (None, None) => {}
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = schema.items() {
                    for item in items {
                        self.apply_to_item(item, schema);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add_missing(&mut self, fields: &mut Map<String, Value>, schema: SchemaRef<'_>) {
        for (name, property) in schema.properties() {
            let Some(default) = &property.node().default else {
                continue;
            };
            let is_missing = match fields.get(name) {
                None => true,
                Some(value) => value.is_null() && !property.nullable,
            };
            if is_missing && self.takes(default, name.len()) {
                fields.insert(name.to_owned(), default.clone());
            }
        }
    }

    /// Items are never missing; only null is replaced.
    fn apply_to_item(&mut self, value: &mut Value, schema: SchemaRef<'_>) {
        if value.is_null()
            && !schema.nullable
            && let Some(default) = &schema.default
            && self.takes(default, 0)
        {
            *value = default.clone();
        }
        self.apply(value, schema);
    }

    /// Whether a default is added. The one that exceeds the limit is.
    fn takes(&mut self, default: &Value, name: usize) -> bool {
        let is_within = self.left > 0;
        self.left = self.left.saturating_sub(name + json_length(default));
        is_within
    }
}

/// How many bytes the JSON of a value has at least.
fn json_length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(json_length).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter();
            2 + fields
                .map(|(name, value)| name.len() + 3 + json_length(value))
                .sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn defaults_end_when_the_object_is_larger_than_any_that_can_be_stored() {
        let large = "y".repeat(100_000);
        let schema = Schema::structural(&json!({
            "type": "object",
            "properties": {"spec": {"type": "array", "items": {
                "type": "object", "properties": {"x": {"type": "string", "default": large}},
            }}},
        }))
        .unwrap();
        let mut object = json!({"spec": vec![json!({}); 20_000]});
        apply_defaults(&mut object, schema.root());
        let length = object.to_string().len();
        assert!(length > MAX_DEFAULTS, "{length}");
        assert!(length < 2 * MAX_DEFAULTS, "{length}");
    }
}
