//! The set of fields that an object mentions: its leaves, list items and empty maps.

use serde_json::Value;

use super::form::{self, Form};
use super::path::PathElement;
use super::set::Set;
use crate::schema::SchemaRef;

/// All fields that the object mentions.
pub(super) fn field_set(schema: SchemaRef<'_>, value: &Value) -> Set {
    let mut set = Set::new();
    collect(schema, value, &mut Vec::new(), &mut set);
    set
}

fn collect(schema: SchemaRef<'_>, value: &Value, path: &mut Vec<PathElement>, set: &mut Set) {
    match form::form(schema, Some(value)) {
        Form::Scalar => set.insert(path),
        Form::List if form::is_atomic_list(schema) => set.insert(path),
        Form::List => collect_items(schema, value, path, set),
        Form::Map | Form::Open if schema.atomic_map => set.insert(path),
        Form::Map | Form::Open => collect_fields(schema, value, path, set),
    }
}

/// Items that occur twice are owned as a whole, once.
fn collect_items(schema: SchemaRef<'_>, value: &Value, path: &mut Vec<PathElement>, set: &mut Set) {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let elements: Vec<_> = items
        .iter()
        .filter_map(|item| Some((form::element(schema, item).ok()?, item)))
        .collect();
    let mut sorted: Vec<_> = elements.iter().map(|(element, _)| element).collect();
    sorted.sort();
    let count = |element: &PathElement| {
        let first = sorted.partition_point(|other| *other < element);
        sorted[first..]
            .iter()
            .take_while(|other| **other == element)
            .count()
    };
    for (element, item) in &elements {
        path.push(element.clone());
        set.insert(path);
        if count(element) == 1 {
            collect(form::item(schema), item, path, set);
        }
        path.pop();
    }
}

fn collect_fields(
    schema: SchemaRef<'_>,
    value: &Value,
    path: &mut Vec<PathElement>,
    set: &mut Set,
) {
    let Value::Object(fields) = value else {
        return;
    };
    for (name, value) in fields {
        path.push(PathElement::field(name));
        if let Some(schema) = form::field(schema, name) {
            collect(schema, value, path, set);
        }
        let is_empty = match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if is_empty || !form::is_declared(schema, name) {
            set.insert(path);
        }
        path.pop();
    }
}
