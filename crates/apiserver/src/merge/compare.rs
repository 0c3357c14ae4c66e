//! Which fields differ between two objects.

use serde_json::{Map, Value};

use super::form::{self, Form};
use super::path::PathElement;
use super::set::Set;
use crate::schema::SchemaRef;
use crate::schema::value;

/// The differences between an old and a new object. No field is in two of the sets.
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
}

pub(super) fn compare(schema: SchemaRef<'_>, old: &Value, new: &Value) -> Comparison {
    let mut walker = Walker {
        path: Vec::new(),
        result: Comparison::default(),
    };
    walker.value(schema, Some(old), Some(new));
    walker.result
}

struct Walker {
    path: Vec<PathElement>,
    result: Comparison,
}

/// Whether a value was compared as a whole.
type IsLeaf = bool;

impl Walker {
    fn value(&mut self, schema: SchemaRef<'_>, old: Option<&Value>, new: Option<&Value>) {
        let (old_form, new_form) = (form::form(schema, old), form::form(schema, new));
        let is_leaf = if new.is_none() {
            self.in_form(schema, old_form, old, new)
        } else if old.is_none() || old_form == new_form {
            self.in_form(schema, new_form, old, new)
        } else {
            self.in_form(schema, old_form, old, new);
            self.in_form(schema, new_form, old, new)
        };
        if is_leaf {
            return;
        }
        if old.is_none() {
            self.result.added.insert(&self.path);
        } else if new.is_none() {
            self.result.removed.insert(&self.path);
        }
    }

    fn in_form(
        &mut self,
        schema: SchemaRef<'_>,
        form: Form,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> IsLeaf {
        match form {
            Form::Scalar => self.leaf(old, new),
            Form::List => {
                let (old_items, new_items) = (items(old), items(new));
                let is_empty = old_items.is_empty() && new_items.is_empty();
                if is_empty || form::is_atomic_list(schema) {
                    return self.leaf(old, new);
                }
                self.list(schema, old_items, new_items);
                false
            }
            Form::Map | Form::Open => {
                let (old_fields, new_fields) = (fields(old), fields(new));
                let is_empty =
                    old_fields.is_none_or(Map::is_empty) && new_fields.is_none_or(Map::is_empty);
                if is_empty || schema.atomic_map {
                    return self.leaf(old, new);
                }
                self.map(schema, old_fields, new_fields);
                false
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> IsLeaf {
        match (old, new) {
            (None, _) => self.result.added.insert(&self.path),
            (_, None) => self.result.removed.insert(&self.path),
            (Some(old), Some(new)) if !value::equal(old, new) => {
                self.result.modified.insert(&self.path);
            }
            _ => {}
        }
        true
    }

    fn map(
        &mut self,
        schema: SchemaRef<'_>,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
    ) {
        let gone = old
            .into_iter()
            .flatten()
            .filter(|(name, _)| new.is_none_or(|new| !new.contains_key(*name)));
        let gone = gone.map(|(name, old)| (name, Some(old), None));
        let kept = new.into_iter().flatten();
        let kept = kept.map(|(name, new)| (name, old.and_then(|old| old.get(name)), Some(new)));
        for (name, old, new) in gone.chain(kept) {
            // Fields that no schema knows cannot be owned.
            if let Some(schema) = form::field(schema, name) {
                self.path.push(PathElement::field(name));
                self.value(schema, old, new);
                self.path.pop();
            }
        }
    }

    fn list(&mut self, schema: SchemaRef<'_>, old: &[Value], new: &[Value]) {
        let (old, new) = (by_element(schema, old), by_element(schema, new));
        let added = new
            .iter()
            .filter(|(element, _)| find(&old, element).is_empty());
        for (element, _) in old.iter().chain(added) {
            self.path.push(element.clone());
            self.same_items(schema, find(&old, element), find(&new, element));
            self.path.pop();
        }
    }

    /// Items with the same key. Several on one side are compared as a whole.
    fn same_items(&mut self, schema: SchemaRef<'_>, old: &[&Value], new: &[&Value]) {
        let item = form::item(schema);
        let is_same =
            || old.len() == new.len() && old.iter().zip(new).all(|(a, b)| value::equal(a, b));
        match (old, new) {
            ([] | [_], [] | [_]) => {
                self.value(item, old.first().copied(), new.first().copied());
            }
            ([_, _, ..], [_, _, ..]) => {
                if !is_same() {
                    self.result.modified.insert(&self.path);
                }
            }
            ([_, _, ..], _) => {
                if let [new] = new {
                    self.value(item, None, Some(new));
                }
                self.result.removed.insert(&self.path);
            }
            (_, [_, _, ..]) => {
                if let [old] = old {
                    self.value(item, Some(old), None);
                }
                self.result.added.insert(&self.path);
            }
        }
    }
}

/// Items by what identifies them, sorted.
type ByElement<'v> = Vec<(PathElement, Vec<&'v Value>)>;

fn by_element<'v>(schema: SchemaRef<'_>, items: &'v [Value]) -> ByElement<'v> {
    let mut groups = ByElement::new();
    for item in items {
        let Ok(element) = form::element(schema, item) else {
            continue;
        };
        match groups.binary_search_by(|(other, _)| other.cmp(&element)) {
            Ok(place) => groups[place].1.push(item),
            Err(place) => groups.insert(place, (element, vec![item])),
        }
    }
    groups
}

fn find<'g, 'v>(groups: &'g ByElement<'v>, element: &PathElement) -> &'g [&'v Value] {
    let place = groups.binary_search_by(|(other, _)| other.cmp(element));
    place.map_or(&[], |place| groups[place].1.as_slice())
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
