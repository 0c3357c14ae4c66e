//! Compares two objects field by field.

use serde_json::{Map, Value};

use super::atom::{self, Atom};
use super::path::PathElement;
use super::set::{Node, Set};
use crate::schema::{SchemaRef, value};

/// `typed.Comparison`: the differences between an old and a new object.
#[derive(Debug, Clone, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl Comparison {
    /// Excludes the given fields and their descendants.
    pub(super) fn exclude_fields(self, fields: Option<&Set>) -> Self {
        let Some(fields) = fields else {
            return self;
        };
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    /// Appends the differences of a child. Children must be pushed in order.
    fn push(&mut self, element: &PathElement, part: ValueComparison) {
        let sets = [&mut self.removed, &mut self.modified, &mut self.added];
        let parts = [
            (part.removed, part.children.removed),
            (part.modified, part.children.modified),
            (part.added, part.children.added),
        ];
        for (set, (member, children)) in sets.into_iter().zip(parts) {
            set.push(Node {
                element: element.clone(),
                member,
                children,
            });
        }
    }
}

pub(super) fn compare(schema: SchemaRef<'_>, old: &Value, new: &Value) -> Comparison {
    compare_value(schema, Some(old), Some(new)).children
}

/// The differences of a value and of its descendants.
#[derive(Default)]
struct ValueComparison {
    removed: bool,
    modified: bool,
    added: bool,
    children: Comparison,
}

fn compare_value(
    schema: SchemaRef<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
) -> ValueComparison {
    let (old_atom, new_atom) = (
        atom::deduce_atom(schema, old),
        atom::deduce_atom(schema, new),
    );
    if new.is_none() {
        return compare_as(schema, old_atom, old, new);
    }
    let part = compare_as(schema, new_atom, old, new);
    if old.is_none() || old_atom == new_atom {
        return part;
    }
    // The type has changed: the descendants of the old value are removed as well.
    let removal = compare_as(schema, old_atom, old, new);
    ValueComparison {
        removed: part.removed || removal.removed,
        modified: part.modified || removal.modified,
        added: part.added || removal.added,
        children: Comparison {
            removed: part.children.removed.union(&removal.children.removed),
            modified: part.children.modified.union(&removal.children.modified),
            added: part.children.added.union(&removal.children.added),
        },
    }
}

fn compare_as(
    schema: SchemaRef<'_>,
    atom: Atom,
    old: Option<&Value>,
    new: Option<&Value>,
) -> ValueComparison {
    let children = match atom {
        Atom::Scalar => return compare_leaf(old, new),
        Atom::List => {
            let (old_items, new_items) = (items(old), items(new));
            let is_empty = old_items.is_empty() && new_items.is_empty();
            if is_empty || atom::is_atomic_list(schema) {
                return compare_leaf(old, new);
            }
            compare_items(schema, old_items, new_items)
        }
        Atom::Map | Atom::Undetermined => {
            let (old_fields, new_fields) = (fields(old), fields(new));
            let is_empty = |fields: Option<&Map<_, _>>| fields.is_none_or(Map::is_empty);
            if (is_empty(old_fields) && is_empty(new_fields)) || schema.atomic_map {
                return compare_leaf(old, new);
            }
            compare_fields(schema, old_fields, new_fields)
        }
    };
    ValueComparison {
        removed: old.is_some() && new.is_none(),
        modified: false,
        added: old.is_none(),
        children,
    }
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>) -> ValueComparison {
    ValueComparison {
        removed: old.is_some() && new.is_none(),
        modified: matches!((old, new), (Some(old), Some(new)) if !value::equal(old, new)),
        added: old.is_none(),
        children: Comparison::default(),
    }
}

fn compare_fields(
    schema: SchemaRef<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Comparison {
    let names = old.into_iter().chain(new).flat_map(Map::keys);
    let mut names: Vec<&String> = names.collect();
    names.sort();
    names.dedup();
    let mut comparison = Comparison::default();
    for name in names {
        // Undeclared fields cannot be owned.
        let Some(schema) = atom::field(schema, name) else {
            continue;
        };
        let old = old.and_then(|fields| fields.get(name));
        let new = new.and_then(|fields| fields.get(name));
        comparison.push(&PathElement::field(name), compare_value(schema, old, new));
    }
    comparison
}

/// An item of one of two lists.
struct Item<'v> {
    element: PathElement,
    value: &'v Value,
    is_new: bool,
}

fn compare_items(schema: SchemaRef<'_>, old: &[Value], new: &[Value]) -> Comparison {
    let old = old.iter().map(|value| (value, false));
    let new = new.iter().map(|value| (value, true));
    let items = old.chain(new).filter_map(|(value, is_new)| {
        let element = atom::item_path_element(schema, value).ok()?;
        Some(Item {
            element,
            value,
            is_new,
        })
    });
    let mut items: Vec<Item<'_>> = items.collect();
    items.sort_by(|a, b| a.element.cmp(&b.element));
    let mut comparison = Comparison::default();
    for group in items.chunk_by(|a, b| a.element == b.element) {
        let of = |is_new: bool| -> Vec<&Value> {
            let items = group.iter().filter(|item| item.is_new == is_new);
            items.map(|item| item.value).collect()
        };
        if let Some(first) = group.first() {
            comparison.push(&first.element, compare_group(schema, &of(false), &of(true)));
        }
    }
    comparison
}

/// Compares items with the same key. Duplicates are compared as a whole.
fn compare_group(schema: SchemaRef<'_>, old: &[&Value], new: &[&Value]) -> ValueComparison {
    let item = atom::item(schema);
    let is_equal =
        || old.len() == new.len() && old.iter().zip(new).all(|(a, b)| value::equal(a, b));
    match (old, new) {
        ([] | [_], [] | [_]) => compare_value(item, old.first().copied(), new.first().copied()),
        ([_, _, ..], [_, _, ..]) => ValueComparison {
            modified: !is_equal(),
            ..ValueComparison::default()
        },
        ([_, _, ..], _) => {
            let added = new.first().map(|new| compare_value(item, None, Some(new)));
            ValueComparison {
                removed: true,
                ..added.unwrap_or_default()
            }
        }
        (_, [_, _, ..]) => {
            let removed = old.first().map(|old| compare_value(item, Some(old), None));
            ValueComparison {
                added: true,
                ..removed.unwrap_or_default()
            }
        }
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
