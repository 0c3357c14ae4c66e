//! Merges an applied configuration into a live object, without removing anything.

use serde_json::{Map, Value};

use super::atom::{self, Atom};
use super::path::PathElement;
use crate::schema::SchemaRef;

/// Merges the configuration into the live object. List items keep the live order, unless the configuration has another.
pub(super) fn merge(schema: SchemaRef<'_>, live: &Value, config: &Value) -> Value {
    merge_value(schema, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn merge_value(
    schema: SchemaRef<'_>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Value> {
    let replaced = || config.or(live).cloned();
    match atom::deduce_atom(schema, config.or(live)) {
        Atom::Scalar => replaced(),
        Atom::List => {
            let (live, config) = (items(live), items(config));
            if atom::is_atomic_list(schema) || (live.is_empty() && config.is_empty()) {
                return replaced();
            }
            let merged = merge_items(schema, live, config);
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
        Atom::Map | Atom::Undetermined => {
            let (live, config) = (fields(live), fields(config));
            let is_empty = live.is_none_or(Map::is_empty) && config.is_none_or(Map::is_empty);
            if schema.atomic_map || is_empty {
                return replaced();
            }
            let merged = merge_fields(schema, live, config);
            (!merged.is_empty()).then_some(Value::Object(merged))
        }
    }
}

fn merge_fields(
    schema: SchemaRef<'_>,
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (name, live) in live.into_iter().flatten() {
        let config = config.and_then(|config| config.get(name));
        let value = match atom::field(schema, name) {
            Some(schema) => merge_value(schema, Some(live), config),
            None => Some(live.clone()),
        };
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    for (name, config) in config.into_iter().flatten() {
        if live.is_some_and(|live| live.contains_key(name)) {
            continue;
        }
        let value =
            atom::field(schema, name).and_then(|schema| merge_value(schema, None, Some(config)));
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    merged
}

/// The items of a list with their path elements.
struct Indexed<'v> {
    items: Vec<(PathElement, &'v Value)>,
    /// Indices into `items`, sorted by path element.
    order: Vec<usize>,
}

impl<'v> Indexed<'v> {
    fn new(schema: SchemaRef<'_>, items: &'v [Value]) -> Self {
        let items: Vec<_> = items
            .iter()
            .filter_map(|item| Some((atom::item_path_element(schema, item).ok()?, item)))
            .collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|a, b| items[*a].0.cmp(&items[*b].0));
        Self { items, order }
    }

    fn element(&self, index: usize) -> &PathElement {
        &self.items[index].0
    }

    fn has(&self, element: &PathElement) -> bool {
        self.position(element).is_some()
    }

    /// The index of the first item with this key.
    fn position(&self, element: &PathElement) -> Option<usize> {
        let first = self
            .order
            .partition_point(|index| self.element(*index) < element);
        let index = *self.order.get(first)?;
        (self.element(index) == element).then_some(index)
    }

    /// The item with this key; null if there are several, since duplicates cannot be merged.
    fn find(&self, element: &PathElement) -> Option<&'v Value> {
        let first = self
            .order
            .partition_point(|index| self.element(*index) < element);
        let mut same = self.order[first..]
            .iter()
            .map(|index| &self.items[*index])
            .take_while(|(other, _)| other == element);
        let (_, item) = same.next()?;
        Some(if same.next().is_some() {
            &Value::Null
        } else {
            item
        })
    }
}

/// Merges two lists in one pass. Shared items take the order of the configuration, other items stay next to their
/// neighbors.
fn merge_items(schema: SchemaRef<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let (live, config) = (Indexed::new(schema, live), Indexed::new(schema, config));
    let item = atom::item(schema);
    let mut merged = Vec::with_capacity(live.items.len().max(config.items.len()));
    let mut is_merged = vec![false; config.items.len()];
    let shared: Vec<&PathElement> = config
        .items
        .iter()
        .map(|(element, _)| element)
        .filter(|element| live.has(element))
        .collect();
    let mut shared = shared.into_iter();
    let mut next_shared = shared.next();
    let (mut l, mut c) = (0, 0);
    while l < live.items.len() || c < config.items.len() {
        if l < live.items.len() && c < config.items.len() {
            let element = live.element(l);
            if element == config.element(c) {
                is_merged[c] = true;
                merged.extend(merge_value(item, live.find(element), config.find(element)));
                (l, c) = (l + 1, c + 1);
                next_shared = shared.next();
                continue;
            }
            if config.has(element) && next_shared.is_some_and(|next| next != element) {
                l += 1;
                continue;
            }
        }
        if l < live.items.len() {
            let (element, value) = &live.items[l];
            if !config.has(element) {
                merged.extend(merge_value(item, Some(value), None));
                l += 1;
                continue;
            }
            if config
                .position(element)
                .is_some_and(|index| is_merged[index])
            {
                l += 1;
            }
        }
        if c < config.items.len() {
            let element = config.element(c);
            is_merged[c] = true;
            merged.extend(merge_value(item, live.find(element), config.find(element)));
            c += 1;
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    merged
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}
