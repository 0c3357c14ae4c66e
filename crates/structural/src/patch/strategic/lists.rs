//! Lists that are merged: objects by a key, scalars by value. The order is that of the patch, with the items that
//! only the server has at their old places between them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{DIRECTIVE, Error, internal, merge_objects, no_merge_key, unknown_directive};
use crate::schema::{SchemaRef, go_value};

/// The kind of things a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Items {
    Objects,
    Scalars,
}

pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    list: SchemaRef<'_>,
    merge_key: Option<&str>,
    is_deletion: bool,
) -> Result<Vec<Value>, Error> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    match items_of(&original, &patch)? {
        Items::Scalars if is_deletion => Ok(original
            .into_iter()
            .filter(|item| !patch.contains(item))
            .collect()),
        Items::Scalars => {
            let mut seen = HashSet::new();
            let both = original
                .iter()
                .chain(&patch)
                .filter(|item| seen.insert(item.to_string()));
            let merged: Vec<Value> = both.cloned().collect();
            Ok(arrange(merged, &patch, &original, None))
        }
        Items::Objects => {
            let Some(key) = merge_key else {
                return Err(internal("cannot merge lists without merge key for struct"));
            };
            let (original, patch) = follow_directives(original, patch, key)?;
            let merged = merge_by_key(original.clone(), &patch, list, key)?;
            for item in &merged {
                key_of(item, key)?;
            }
            Ok(arrange(merged, &patch, &original, Some(key)))
        }
    }
}

/// All items must be alike, and lists of lists are not merged.
fn items_of(original: &[Value], patch: &[Value]) -> Result<Items, Error> {
    let kind = |value: &Value| match value {
        Value::Number(number) if number.is_f64() => 6,
        Value::Number(_) => 5,
        Value::String(_) => 4,
        Value::Bool(_) => 3,
        Value::Null => 2,
        Value::Array(_) => 1,
        Value::Object(_) => 0,
    };
    let mut items = original.iter().chain(patch);
    let Some(first) = items.next() else {
        return Err(internal("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(Error::Unprocessable(
            "lists of lists are not supported".to_owned(),
        ));
    }
    if items.any(|item| kind(item) != kind(first)) {
        let both = format!("[{} {}]", list_text(original), list_text(patch));
        return Err(internal(format!(
            "list element types are not identical: {both}"
        )));
    }
    Ok(if first.is_object() {
        Items::Objects
    } else {
        Items::Scalars
    })
}

fn list_text(items: &[Value]) -> String {
    go_value(&Value::Array(items.to_vec()))
}

/// Carries out `$patch` in list items.
fn follow_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut plain = Vec::new();
    let mut is_replaced = false;
    for item in patch {
        let Value::Object(fields) = &item else {
            continue;
        };
        let Some(directive) = fields.get(DIRECTIVE) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                for (i, item) in original.iter().enumerate() {
                    if !item.is_object() {
                        return Err(internal(format!("value for key {i} is not a map")));
                    }
                }
                original.retain(|item| item.get(key) != Some(value));
            }
            Some("replace") => is_replaced = true,
            Some("merge") => {
                return Err(internal(
                    "merging lists cannot yet be specified in the patch",
                ));
            }
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    if is_replaced {
        return Ok((plain, Vec::new()));
    }
    Ok((original, plain))
}

fn merge_by_key(
    mut merged: Vec<Value>,
    patch: &[Value],
    list: SchemaRef<'_>,
    key: &str,
) -> Result<Vec<Value>, Error> {
    let schema = list.items().unwrap_or(list);
    let mut places = Places::new(&merged, Some(key));
    for item in patch {
        let Value::Object(changes) = item else {
            continue;
        };
        let value = changes.get(key).ok_or_else(|| no_merge_key(changes, key))?;
        let place = places.of(item);
        let current = place.map(|place| std::mem::take(&mut merged[place]));
        if let (Some(place), Some(Value::Object(current))) = (place, current) {
            merged[place] = Value::Object(merge_objects(current, changes.clone(), schema)?);
        } else {
            places.places.insert(value.to_string(), merged.len());
            merged.push(item.clone());
        }
    }
    Ok(merged)
}

fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, Error> {
    match item {
        Value::Object(fields) => fields.get(key).ok_or_else(|| no_merge_key(fields, key)),
        other => Err(super::bad_type("map[string]interface {}", other)),
    }
}

/// What an item is told apart by.
fn identity<'v>(item: &'v Value, key: Option<&str>) -> &'v Value {
    match key {
        Some(key) => item.get(key).unwrap_or(&Value::Null),
        None => item,
    }
}

/// Where items stand in a list, the first of equal ones.
struct Places<'k> {
    places: HashMap<String, usize>,
    key: Option<&'k str>,
}

impl<'k> Places<'k> {
    fn new(list: &[Value], key: Option<&'k str>) -> Self {
        let mut places = HashMap::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            places.entry(identity(item, key).to_string()).or_insert(i);
        }
        Self { places, key }
    }

    fn of(&self, item: &Value) -> Option<usize> {
        self.places
            .get(&identity(item, self.key).to_string())
            .copied()
    }
}

/// Items that `first` names come in its order. The others keep the order of `live` and go before the first of
/// those that they stood before.
fn arrange(items: Vec<Value>, first: &[Value], live: &[Value], key: Option<&str>) -> Vec<Value> {
    let (first, live) = (Places::new(first, key), Places::new(live, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| first.of(item).is_some());
    named.sort_by_cached_key(|item| first.of(item));
    others.sort_by_cached_key(|item| live.of(item));
    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(other), Some(name)) = (others.peek(), named.peek()) {
        let is_before = match (live.of(other), live.of(name)) {
            (Some(other), Some(name)) => other < name,
            _ => false,
        };
        arranged.extend(if is_before {
            others.next()
        } else {
            named.next()
        });
    }
    arranged.extend(others.chain(named));
    arranged
}

/// Checks that the items of a patch are named by its order list, in that order. Deletions do not count.
pub(super) fn check_order(
    changes: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), Error> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in changes {
        if key.is_some() && !item.is_object() {
            return Err(super::bad_type("map[string]interface {}", item));
        }
        if item.get(DIRECTIVE).is_some() {
            continue;
        }
        let is_next = |other: &Value| -> Result<bool, Error> {
            match key {
                Some(key) => Ok(key_of(item, key)? == key_of(other, key)?),
                None => Ok(item == other),
            }
        };
        loop {
            match rest.next() {
                None => {
                    let (changes, order) = (list_text(changes), list_text(order));
                    return Err(internal(format!(
                        "The order in patch list:\n{changes}\n doesn't match $setElementOrder list:\n{order}\n"
                    )));
                }
                Some(other) if is_next(other)? => break,
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Sorts a merged list by its order list.
pub(super) fn order(
    merged: Vec<Value>,
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
    changes: Option<&[Value]>,
) -> Result<Vec<Value>, Error> {
    let kind = items_of(live, changes.unwrap_or_default())?;
    if let (Some(key), Items::Objects) = (key, kind) {
        for item in merged.iter().chain(order).chain(live) {
            key_of(item, key)?;
        }
    }
    Ok(arrange(merged, order, live, key))
}
