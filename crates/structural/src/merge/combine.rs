//! Merges an applied configuration into an object. Nothing is removed here.

use serde_json::{Map, Value};

use super::form::{self, Form};
use super::path::PathElement;
use crate::schema::SchemaRef;

/// The live object with the configuration on top. List items keep the live order where the configuration does not
/// say otherwise.
pub(super) fn combine(schema: SchemaRef<'_>, live: &Value, config: &Value) -> Value {
    merge(schema, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn merge(schema: SchemaRef<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let whole = || config.or(live).cloned();
    match form::form(schema, config.or(live)) {
        Form::Scalar => whole(),
        Form::List => {
            let (live, config) = (items(live), items(config));
            if form::is_atomic_list(schema) || (live.is_empty() && config.is_empty()) {
                return whole();
            }
            let merged = merge_items(schema, live, config);
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
        Form::Map | Form::Open => {
            let (live, config) = (fields(live), fields(config));
            let is_empty = live.is_none_or(Map::is_empty) && config.is_none_or(Map::is_empty);
            if schema.atomic_map || is_empty {
                return whole();
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
        let value = match form::field(schema, name) {
            Some(schema) => merge(schema, Some(live), config),
            None => Some(live.clone()),
        };
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    for (name, config) in config.into_iter().flatten() {
        if live.is_some_and(|live| live.contains_key(name)) {
            continue;
        }
        let value = form::field(schema, name).and_then(|schema| merge(schema, None, Some(config)));
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    merged
}

/// A list with what identifies its items.
struct Indexed<'v> {
    items: Vec<(PathElement, &'v Value)>,
    /// Places in `items`, sorted by element.
    order: Vec<usize>,
}

impl<'v> Indexed<'v> {
    fn new(schema: SchemaRef<'_>, items: &'v [Value]) -> Self {
        let items: Vec<_> = items
            .iter()
            .filter_map(|item| Some((form::element(schema, item).ok()?, item)))
            .collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|a, b| items[*a].0.cmp(&items[*b].0));
        Self { items, order }
    }

    fn element(&self, place: usize) -> &PathElement {
        &self.items[place].0
    }

    fn has(&self, element: &PathElement) -> bool {
        self.place(element).is_some()
    }

    /// Where the first item with this key is.
    fn place(&self, element: &PathElement) -> Option<usize> {
        let first = self
            .order
            .partition_point(|place| self.element(*place) < element);
        let place = *self.order.get(first)?;
        (self.element(place) == element).then_some(place)
    }

    /// The item with this key; null if there are several, since none of them can be merged.
    fn find(&self, element: &PathElement) -> Option<&'v Value> {
        let first = self
            .order
            .partition_point(|place| self.element(*place) < element);
        let mut same = self.order[first..]
            .iter()
            .map(|place| &self.items[*place])
            .take_while(|(other, _)| other == element);
        let (_, item) = same.next()?;
        Some(if same.next().is_some() {
            &Value::Null
        } else {
            item
        })
    }
}

/// Walks both lists. Items on both sides come in the order of the configuration, others stay next to their
/// neighbors.
fn merge_items(schema: SchemaRef<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let (live, config) = (Indexed::new(schema, live), Indexed::new(schema, config));
    let item = form::item(schema);
    let mut merged = Vec::with_capacity(live.items.len().max(config.items.len()));
    let mut done = vec![false; config.items.len()];
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
                done[c] = true;
                merged.extend(merge(item, live.find(element), config.find(element)));
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
                merged.extend(merge(item, Some(value), None));
                l += 1;
                continue;
            }
            if config.place(element).is_some_and(|place| done[place]) {
                l += 1;
            }
        }
        if c < config.items.len() {
            let element = config.element(c);
            done[c] = true;
            merged.extend(merge(item, live.find(element), config.find(element)));
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
