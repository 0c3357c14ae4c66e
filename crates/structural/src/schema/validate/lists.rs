//! Lists that are sets or maps must not have an item twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::field_error::FieldError;
use crate::schema::{ListType, SchemaRef};

/// Checks all lists of an object.
pub fn check_list_uniqueness(value: &Value, schema: SchemaRef<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check("", value, schema, &mut errors);
    errors
}

fn check(path: &str, value: &Value, schema: SchemaRef<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.additional() {
                    check(&format!("{path}[{name}]"), value, schema, errors);
                }
                if let Some(schema) = schema.property(name) {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    check(&path, value, schema, errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    for i in second_occurrences(items) {
                        errors.push(FieldError::duplicate(
                            format!("{path}[{i}]"),
                            items[i].clone(),
                        ));
                    }
                }
                ListType::Map(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                    check_keys(path, items, &keys, errors);
                }
            }
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    check(&format!("{path}[{i}]"), item, schema, errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_keys(path: &str, items: &[Value], keys: &[&str], errors: &mut Vec<FieldError>) {
    let stranger = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(i) = stranger {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(
            format!("{path}[{i}]"),
            items[i].clone(),
            detail,
        ));
        return;
    }
    let key_of = |item: &Value| {
        let fields = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), item.get(key)?.clone())));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let item_keys: Vec<Value> = items.iter().map(key_of).collect();
    for i in second_occurrences(&item_keys) {
        errors.push(FieldError::duplicate(
            format!("{path}[{i}]"),
            item_keys[i].clone(),
        ));
    }
}

/// Where values occur for the second time. Further occurrences are not told.
fn second_occurrences(values: &[Value]) -> Vec<usize> {
    let mut counts: HashMap<String, usize> = HashMap::with_capacity(values.len());
    let mut is_second = |value: &Value| {
        let count = counts.entry(value.to_string()).or_default();
        *count += 1;
        *count == 2
    };
    let values = values.iter().enumerate();
    values
        .filter(|(_, value)| is_second(value))
        .map(|(i, _)| i)
        .collect()
}
