//! The set of fields that an object specifies: its leaves, list items and empty maps.

use serde_json::Value;

use super::atom::{self, Atom};
use super::path::PathElement;
use super::set::{Node, Set};
use crate::schema::SchemaRef;

pub(super) fn to_field_set(schema: SchemaRef<'_>, value: &Value) -> Set {
    collect(schema, value).children
}

/// The contribution of a value to the set of its parent.
struct FieldNode {
    /// Whether the field itself is a member.
    is_member: bool,
    children: Set,
}

fn collect(schema: SchemaRef<'_>, value: &Value) -> FieldNode {
    let leaf = || FieldNode {
        is_member: true,
        children: Set::new(),
    };
    let children = match atom::deduce_atom(schema, Some(value)) {
        Atom::Scalar => return leaf(),
        Atom::List if atom::is_atomic_list(schema) => return leaf(),
        Atom::Map | Atom::Undetermined if schema.atomic_map => return leaf(),
        Atom::List => collect_items(schema, value),
        Atom::Map | Atom::Undetermined => collect_fields(schema, value),
    };
    FieldNode {
        is_member: false,
        children,
    }
}

/// Duplicate items are owned as a whole.
fn collect_items(schema: SchemaRef<'_>, value: &Value) -> Set {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut items: Vec<(PathElement, &Value)> = items
        .iter()
        .filter_map(|item| Some((atom::item_path_element(schema, item).ok()?, item)))
        .collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut set = Set::new();
    for group in items.chunk_by(|(a, _), (b, _)| a == b) {
        let children = match group {
            [(_, item)] => collect(atom::item(schema), item).children,
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
        let node = atom::field(schema, name).map(|schema| collect(schema, value));
        let is_empty = match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let is_member = node.as_ref().is_some_and(|node| node.is_member);
        set.push(Node {
            element: PathElement::field(name),
            member: is_member || is_empty || !atom::is_declared(schema, name),
            children: node.map_or_else(Set::new, |node| node.children),
        });
    }
    set
}
