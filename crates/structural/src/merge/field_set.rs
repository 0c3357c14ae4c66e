//! The set of fields that an object mentions: its leaves, list items and empty maps.

use serde_json::Value;

use super::form::{self, Form};
use super::path::PathElement;
use super::set::{Node, Set};
use crate::schema::SchemaRef;

/// All fields that the object mentions.
pub(super) fn field_set(schema: SchemaRef<'_>, value: &Value) -> Set {
    collect(schema, value).below
}

/// What a value contributes to the set of the object around it.
struct Part {
    /// The value itself is mentioned.
    is_member: bool,
    below: Set,
}

fn collect(schema: SchemaRef<'_>, value: &Value) -> Part {
    let leaf = || Part {
        is_member: true,
        below: Set::new(),
    };
    let below = match form::form(schema, Some(value)) {
        Form::Scalar => return leaf(),
        Form::List if form::is_atomic_list(schema) => return leaf(),
        Form::Map | Form::Open if schema.atomic_map => return leaf(),
        Form::List => collect_items(schema, value),
        Form::Map | Form::Open => collect_fields(schema, value),
    };
    Part {
        is_member: false,
        below,
    }
}

/// Items that occur twice are owned as a whole, once.
fn collect_items(schema: SchemaRef<'_>, value: &Value) -> Set {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut items: Vec<(PathElement, &Value)> = items
        .iter()
        .filter_map(|item| Some((form::element(schema, item).ok()?, item)))
        .collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut set = Set::new();
    for group in items.chunk_by(|(a, _), (b, _)| a == b) {
        let children = match group {
            [(_, item)] => collect(form::item(schema), item).below,
            _ => Set::new(),
        };
        if let Some((element, _)) = group.first() {
            set.push(Node {
                element: element.clone(),
                member: true,
                children,
            });
        }
    }
    set
}

fn collect_fields(schema: SchemaRef<'_>, value: &Value) -> Set {
    let Value::Object(fields) = value else {
        return Set::new();
    };
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut set = Set::new();
    for (name, value) in fields {
        let part = form::field(schema, name).map(|schema| collect(schema, value));
        let is_empty = match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let is_member = part.as_ref().is_some_and(|part| part.is_member);
        set.push(Node {
            element: PathElement::field(name),
            member: is_member || is_empty || !form::is_declared(schema, name),
            children: part.map_or_else(Set::new, |part| part.below),
        });
    }
    set
}
