//! Uniqueness of the items of lists of type set and map.

use std::collections::HashMap;

use outrigger_apimachinery::status::field;
use serde_json::{Map, Value};

use crate::schema::field_error;
use crate::schema::{ListType, SchemaRef};

/// Validates all lists of an object.
pub fn validate_list_uniqueness(value: &Value, schema: SchemaRef<'_>) -> Vec<field::Error> {
    let mut errors = Vec::new();
    validate("", value, schema, &mut errors);
    errors
}

fn validate(path: &str, value: &Value, schema: SchemaRef<'_>, errors: &mut Vec<field::Error>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.additional() {
                    validate(&format!("{path}[{name}]"), value, schema, errors);
                }
                if let Some(schema) = schema.property(name) {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    validate(&path, value, schema, errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    for i in second_occurrences(items) {
                        errors.push(field_error::duplicate(
                            format!("{path}[{i}]"),
                            items[i].clone(),
                        ));
                    }
                }
                ListType::Map(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                    validate_keys(path, items, &keys, errors);
                }
            }
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    validate(&format!("{path}[{i}]"), item, schema, errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_keys(path: &str, items: &[Value], keys: &[&str], errors: &mut Vec<field::Error>) {
    let non_object = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(i) = non_object {
        let detail = "must be an object for an array of list-type map";
        errors.push(field_error::invalid(
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
        errors.push(field_error::duplicate(
            format!("{path}[{i}]"),
            item_keys[i].clone(),
        ));
    }
}

/// The indices of second occurrences. Further occurrences are not reported.
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
