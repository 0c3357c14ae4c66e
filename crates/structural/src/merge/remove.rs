//! Removes fields and list items from an object.

use serde_json::{Map, Value};

use super::atom::{self, Atom};
use super::path::PathElement;
use super::set::Set;
use crate::schema::SchemaRef;

/// Returns the object without the given fields. Lists and maps that become empty are replaced by null.
pub(super) fn remove(schema: SchemaRef<'_>, value: &Value, fields: &Set) -> Value {
    match (atom::deduce_atom(schema, Some(value)), value) {
        (Atom::Scalar, _) => value.clone(),
        (Atom::List, Value::Array(items)) if !atom::is_atomic_list(schema) => {
            remove_items(schema, items, fields)
        }
        (Atom::Map | Atom::Undetermined, Value::Object(map)) if !schema.atomic_map => {
            remove_fields(schema, map, fields)
        }
        (Atom::List | Atom::Map | Atom::Undetermined, _) => Value::Null,
    }
}

fn remove_items(schema: SchemaRef<'_>, items: &[Value], fields: &Set) -> Value {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        let Ok(element) = atom::item_path_element(schema, item) else {
            kept.push(item.clone());
            continue;
        };
        match fields.get(&element) {
            Some(node) if node.member => {}
            Some(node) => kept.push(remove(atom::item(schema), item, &node.children)),
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
            Some(node) => match atom::field(schema, name) {
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
