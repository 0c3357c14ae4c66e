//! Takes fields and list items out of an object.

use serde_json::{Map, Value};

use super::form::{self, Form};
use super::path::PathElement;
use super::set::Set;
use crate::schema::SchemaRef;

/// The object without the given fields. A list or map that becomes empty by it becomes null.
pub(super) fn remove(schema: SchemaRef<'_>, value: &Value, fields: &Set) -> Value {
    match (form::form(schema, Some(value)), value) {
        (Form::Scalar, _) => value.clone(),
        (Form::List, Value::Array(items)) if !form::is_atomic_list(schema) => {
            remove_items(schema, items, fields)
        }
        (Form::Map | Form::Open, Value::Object(map)) if !schema.atomic_map => {
            remove_fields(schema, map, fields)
        }
        (Form::List | Form::Map | Form::Open, _) => Value::Null,
    }
}

fn remove_items(schema: SchemaRef<'_>, items: &[Value], fields: &Set) -> Value {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let Ok(element) = form::element(schema, item) else {
            kept.push(item.clone());
            continue;
        };
        match fields.get(&element) {
            Some(node) if node.member => {}
            Some(node) => kept.push(remove(form::item(schema), item, &node.children)),
            None => kept.push(item.clone()),
        }
    }
    if kept.is_empty() {
        return Value::Null;
    }
    Value::Array(kept)
}

fn remove_fields(schema: SchemaRef<'_>, map: &Map<String, Value>, fields: &Set) -> Value {
    let mut kept = Map::new();
    for (name, value) in map {
        let value = match fields.get(&PathElement::field(name)) {
            Some(node) if node.member => continue,
            Some(node) => match form::field(schema, name) {
                Some(schema) => remove(schema, value, &node.children),
                None => value.clone(),
            },
            None => value.clone(),
        };
        kept.insert(name.clone(), value);
    }
    if kept.is_empty() {
        return Value::Null;
    }
    Value::Object(kept)
}
