//! Pruning: removes fields that the schema does not declare, and nulls of fields that are not nullable.

use serde_json::{Map, Value};

use super::{AdditionalProperties, SchemaRef, UNTYPED_ATOMIC, UNTYPED_DEDUCED};

/// Removes unknown fields and returns their sorted paths, such as `spec.list[0].field`.
///
/// `apiVersion`, `kind` and `metadata` are kept, at the root and in embedded resources.
pub fn prune_unknown(value: &mut Value, schema: SchemaRef<'_>) -> Vec<String> {
    let mut pruner = Pruner {
        path: String::new(),
        unknown: Vec::new(),
    };
    pruner.value(value, Some(schema));
    pruner.unknown.sort();
    pruner.unknown
}

/// Removes null fields that are not nullable and have no default.
pub fn prune_nulls(value: &mut Value, schema: SchemaRef<'_>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(schema) = schema.property(name).or_else(|| schema.additional()) else {
                return true;
            };
            if value.is_null()
                && !schema.nullable
                && schema.default.is_none()
                && !is_untyped(schema)
            {
                return false;
            }
            prune_nulls(value, schema);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for item in items {
                    prune_nulls(item, schema);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_untyped(schema: SchemaRef<'_>) -> bool {
    schema.id == UNTYPED_ATOMIC || schema.id == UNTYPED_DEDUCED
}

struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    /// Without a schema, objects lose all fields.
    fn value(&mut self, value: &mut Value, schema: Option<SchemaRef<'_>>) {
        let preserves = schema.is_some_and(|schema| schema.preserve_unknown_fields);
        self.value_preserving(value, schema, preserves);
    }

    fn value_preserving(
        &mut self,
        value: &mut Value,
        schema: Option<SchemaRef<'_>>,
        preserves: bool,
    ) {
        match (value, schema) {
            (Value::Object(fields), None) => {
                for name in fields.keys() {
                    self.record(name);
                }
                fields.clear();
            }
            (Value::Object(fields), Some(schema)) => self.object(fields, schema, preserves),
            (Value::Array(items), schema) => {
                let item_schema = schema.and_then(SchemaRef::items);
                if preserves && item_schema.is_none() {
                    return;
                }
                for (i, item) in items.iter_mut().enumerate() {
                    let length = self.path.len();
                    self.path.push_str(&format!("[{i}]"));
                    let item_preserves =
                        item_schema.is_some_and(|schema| schema.preserve_unknown_fields);
                    self.value_preserving(item, item_schema, preserves || item_preserves);
                    self.path.truncate(length);
                }
            }
            (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, schema: SchemaRef<'_>, preserves: bool) {
        let is_root = self.path.is_empty();
        fields.retain(|name, value| {
            let is_meta = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            if is_meta && schema.is_resource {
                return true;
            }
            let property = schema.property(name).or_else(|| schema.additional());
            if property.is_some() || schema.node().additional != AdditionalProperties::Unspecified {
                let length = self.path.len();
                self.enter(name);
                self.value(value, property);
                self.path.truncate(length);
                return true;
            }
            if preserves {
                return true;
            }
            if !(is_meta && is_root) {
                self.record(name);
            }
            false
        });
    }

    fn enter(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn record(&mut self, name: &str) {
        let length = self.path.len();
        self.enter(name);
        self.unknown.push(self.path.clone());
        self.path.truncate(length);
    }
}
