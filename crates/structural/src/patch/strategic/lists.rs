//! Merges lists: objects by merge key, scalars by value. The result is in the order of the patch; items that only the
//! live list has keep their relative positions.

use std::collections::{HashMap, HashSet};

use outrigger_gostd::fmt::sprint_json;
use serde_json::Value;

use super::{DIRECTIVE, Error, internal, merge_objects, no_merge_key, unknown_directive};
use crate::schema::SchemaRef;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
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
    match item_kind(&original, &patch)? {
        ItemKind::Scalars if is_deletion => {
            let deleted: HashSet<&Value> = patch.iter().collect();
            let mut kept = original;
            kept.retain(|item| !deleted.contains(item));
            Ok(kept)
        }
        ItemKind::Scalars => {
            let mut seen = HashSet::new();
            let both = original
                .iter()
                .chain(&patch)
                .filter(|item| seen.insert(item.to_string()));
            let merged: Vec<Value> = both.cloned().collect();
            Ok(arrange(merged, &patch, &original, None))
        }
        ItemKind::Objects => {
            let Some(key) = merge_key else {
                return Err(internal("cannot merge lists without merge key for struct"));
            };
            let (original, patch) = apply_directives(original, patch, key)?;
            let merged = merge_by_key(original.clone(), &patch, list, key)?;
            for item in &merged {
                key_of(item, key)?;
            }
            Ok(arrange(merged, &patch, &original, Some(key)))
        }
    }
}

/// All items must have the same type, and lists of lists are not supported.
fn item_kind(original: &[Value], patch: &[Value]) -> Result<ItemKind, Error> {
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
        let both = format!("[{} {}]", format_list(original), format_list(patch));
        return Err(internal(format!(
            "list element types are not identical: {both}"
        )));
    }
    Ok(if first.is_object() {
        ItemKind::Objects
    } else {
        ItemKind::Scalars
    })
}

fn format_list(items: &[Value]) -> String {
    sprint_json(&Value::Array(items.to_vec()))
}

/// Applies the `$patch` directives of list items.
fn apply_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Error> {
    let mut without_directive = Vec::new();
    let mut deleted = HashSet::new();
    let mut is_replaced = false;
    for mut item in patch {
        let Value::Object(fields) = &mut item else {
            continue;
        };
        let Some(directive) = fields.get(DIRECTIVE) else {
            without_directive.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = fields.remove(key);
                deleted.insert(value.ok_or_else(|| no_merge_key(fields, key))?);
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
        return Ok((without_directive, Vec::new()));
    }
    original.retain(|item| item.get(key).is_none_or(|value| !deleted.contains(value)));
    Ok((original, without_directive))
}

fn merge_by_key(
    mut merged: Vec<Value>,
    patch: &[Value],
    list: SchemaRef<'_>,
    key: &str,
) -> Result<Vec<Value>, Error> {
    let schema = list.items().unwrap_or(list);
    let mut positions = Positions::new(&merged, Some(key));
    for item in patch {
        let Value::Object(changes) = item else {
            continue;
        };
        let value = changes.get(key).ok_or_else(|| no_merge_key(changes, key))?;
        let index = positions.of(item);
        let current = index.map(|index| std::mem::take(&mut merged[index]));
        if let (Some(index), Some(Value::Object(current))) = (index, current) {
            merged[index] = Value::Object(merge_objects(current, changes.clone(), schema)?);
        } else {
            positions
                .by_identity
                .insert(value.to_string(), merged.len());
            merged.push(item.clone());
        }
    }
    Ok(merged)
}

fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, Error> {
    match item {
        Value::Object(fields) => fields.get(key).ok_or_else(|| no_merge_key(fields, key)),
        other => Err(super::type_error("map[string]interface {}", other)),
    }
}

/// The value that identifies an item.
fn identity<'v>(item: &'v Value, key: Option<&str>) -> &'v Value {
    match key {
        Some(key) => item.get(key).unwrap_or(&Value::Null),
        None => item,
    }
}

/// The indices of items in a list, the first of equal ones.
struct Positions<'k> {
    by_identity: HashMap<String, usize>,
    key: Option<&'k str>,
}

impl<'k> Positions<'k> {
    fn new(list: &[Value], key: Option<&'k str>) -> Self {
        let mut by_identity = HashMap::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            by_identity
                .entry(identity(item, key).to_string())
                .or_insert(i);
        }
        Self { by_identity, key }
    }

    fn of(&self, item: &Value) -> Option<usize> {
        self.by_identity
            .get(&identity(item, self.key).to_string())
            .copied()
    }
}

/// Sorts the items that are in `order` by it. The others keep the order of `live`, before the item that they preceded.
fn arrange(items: Vec<Value>, order: &[Value], live: &[Value], key: Option<&str>) -> Vec<Value> {
    let (order, live) = (Positions::new(order, key), Positions::new(live, key));
    let (mut ordered, mut others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| order.of(item).is_some());
    ordered.sort_by_cached_key(|item| order.of(item));
    others.sort_by_cached_key(|item| live.of(item));
    let mut arranged = Vec::with_capacity(ordered.len() + others.len());
    let (mut ordered, mut others) = (
        ordered.into_iter().peekable(),
        others.into_iter().peekable(),
    );
    while let (Some(other), Some(next)) = (others.peek(), ordered.peek()) {
        let is_before = match (live.of(other), live.of(next)) {
            (Some(other), Some(next)) => other < next,
            _ => false,
        };
        arranged.extend(if is_before {
            others.next()
        } else {
            ordered.next()
        });
    }
    arranged.extend(others.chain(ordered));
    arranged
}

/// Checks that the items of a patch are in `$setElementOrder`, in that order. Ignores deletions.
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
            return Err(super::type_error("map[string]interface {}", item));
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
                    let (changes, order) = (format_list(changes), format_list(order));
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

/// Sorts a merged list by `$setElementOrder`.
pub(super) fn order(
    merged: Vec<Value>,
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
    changes: Option<&[Value]>,
) -> Result<Vec<Value>, Error> {
    let kind = item_kind(live, changes.unwrap_or_default())?;
    if let (Some(key), ItemKind::Objects) = (key, kind) {
        for item in merged.iter().chain(order).chain(live) {
            key_of(item, key)?;
        }
    }
    Ok(arrange(merged, order, live, key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deletes_items_by_merge_key() {
        let list = |value: Value| serde_json::from_value::<Vec<Value>>(value).unwrap();
        let live = list(
            json!([{"name": "a"}, {"name": 1}, {"value": "b"}, {"name": "a", "value": "c"}, {"name": "1"}]),
        );
        let patch = list(
            json!([{"name": "new"}, {"name": "a", "$patch": "delete"}, {"name": 1, "$patch": "delete"}]),
        );
        let (live, patch) = apply_directives(live, patch, "name").unwrap();
        assert_eq!(live, list(json!([{"value": "b"}, {"name": "1"}])));
        assert_eq!(patch, [json!({"name": "new"})]);
        let nameless = list(json!([{"$patch": "delete"}]));
        assert!(apply_directives(live, nameless, "name").is_err());
    }
}
