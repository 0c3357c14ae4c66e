//! Which fields differ between two objects.

use serde_json::{Map, Value};

use super::form::{self, Form};
use super::path::PathElement;
use super::set::{Node, Set};
use crate::schema::{SchemaRef, value};

/// The differences between an old and a new object.
#[derive(Debug, Clone, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl Comparison {
    /// Leaves out the given fields and all below them.
    pub(super) fn without(self, fields: Option<&Set>) -> Self {
        let Some(fields) = fields else {
            return self;
        };
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    /// Adds the differences of a part. Parts come in order.
    fn push(&mut self, element: &PathElement, part: Part) {
        let sets = [&mut self.removed, &mut self.modified, &mut self.added];
        let parts = [
            (part.removed, part.below.removed),
            (part.modified, part.below.modified),
            (part.added, part.below.added),
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
    compare_value(schema, Some(old), Some(new)).below
}

/// How a value differs, and what differs below it.
#[derive(Default)]
struct Part {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

fn compare_value(schema: SchemaRef<'_>, old: Option<&Value>, new: Option<&Value>) -> Part {
    let (old_form, new_form) = (form::form(schema, old), form::form(schema, new));
    if new.is_none() {
        return compare_form(schema, old_form, old, new);
    }
    let part = compare_form(schema, new_form, old, new);
    if old.is_none() || old_form == new_form {
        return part;
    }
    // What the old form had is gone as well.
    let before = compare_form(schema, old_form, old, new);
    Part {
        removed: part.removed || before.removed,
        modified: part.modified || before.modified,
        added: part.added || before.added,
        below: Comparison {
            removed: part.below.removed.union(&before.below.removed),
            modified: part.below.modified.union(&before.below.modified),
            added: part.below.added.union(&before.below.added),
        },
    }
}

fn compare_form(
    schema: SchemaRef<'_>,
    form: Form,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Part {
    let below = match form {
        Form::Scalar => return compare_leaf(old, new),
        Form::List => {
            let (old_items, new_items) = (items(old), items(new));
            let is_empty = old_items.is_empty() && new_items.is_empty();
            if is_empty || form::is_atomic_list(schema) {
                return compare_leaf(old, new);
            }
            compare_items(schema, old_items, new_items)
        }
        Form::Map | Form::Open => {
            let (old_fields, new_fields) = (fields(old), fields(new));
            let is_empty = |fields: Option<&Map<_, _>>| fields.is_none_or(Map::is_empty);
            if (is_empty(old_fields) && is_empty(new_fields)) || schema.atomic_map {
                return compare_leaf(old, new);
            }
            compare_fields(schema, old_fields, new_fields)
        }
    };
    Part {
        removed: old.is_some() && new.is_none(),
        modified: false,
        added: old.is_none(),
        below,
    }
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>) -> Part {
    Part {
        removed: old.is_some() && new.is_none(),
        modified: matches!((old, new), (Some(old), Some(new)) if !value::equal(old, new)),
        added: old.is_none(),
        below: Comparison::default(),
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
        // Fields that no schema knows cannot be owned.
        let Some(schema) = form::field(schema, name) else {
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
        let element = form::element(schema, value).ok()?;
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

/// Items with the same key. Several on one side are compared as a whole.
fn compare_group(schema: SchemaRef<'_>, old: &[&Value], new: &[&Value]) -> Part {
    let item = form::item(schema);
    let is_same = || old.len() == new.len() && old.iter().zip(new).all(|(a, b)| value::equal(a, b));
    match (old, new) {
        ([] | [_], [] | [_]) => compare_value(item, old.first().copied(), new.first().copied()),
        ([_, _, ..], [_, _, ..]) => Part {
            modified: !is_same(),
            ..Part::default()
        },
        ([_, _, ..], _) => {
            let fresh = new.first().map(|new| compare_value(item, None, Some(new)));
            Part {
                removed: true,
                ..fresh.unwrap_or_default()
            }
        }
        (_, [_, _, ..]) => {
            let gone = old.first().map(|old| compare_value(item, Some(old), None));
            Part {
                added: true,
                ..gone.unwrap_or_default()
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
