//! JSON patch, with the semantics of the library of kube-apiserver: `replace` may add a field, a missing value equals
//! null in a `test`, and negative indices count from the end.

use std::fmt;

use outrigger_gostd::json::marshal;
use serde_json::{Map, Value};

use super::Error;
use crate::depth::{EXCEEDED, MAX_BODY_DEPTH};

/// The beginning of the message if there is no container at a path.
const NOT_APPLICABLE: &str = "operation does not apply";
/// The end of the message if a `test` fails.
pub(super) const TEST_FAILED: &str = "test failed";
const MAX_OPERATIONS: usize = 10_000;
/// The maximum number of bytes that all copies of a patch may add.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// The maximum work of a patch, so that it takes a fraction of a second: thousands of operations on short lists, or some
/// on long ones.
const MAX_STEPS: usize = 20_000_000;

/// The unknown fields of operations, as strict decoding reports them.
pub(super) fn unknown_fields(operations: &[Value]) -> Vec<String> {
    let known = ["op", "path", "from", "value"];
    let operations = operations.iter().enumerate();
    let unknown = operations.flat_map(|(i, operation)| {
        let fields = operation.as_object().into_iter().flat_map(Map::keys);
        fields
            .filter(|name| !known.contains(&name.as_str()))
            .map(move |name| format!("unknown field \"[{i}].{name}\""))
    });
    unknown.collect()
}

pub(super) fn apply(document: Value, operations: &[Value]) -> Result<Value, Error> {
    if operations.len() > MAX_OPERATIONS {
        return Err(Error::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut patch = Patch {
        depth: depth(&document),
        document,
        copied: 0,
        steps: 0,
    };
    for operation in operations {
        patch.apply(operation).map_err(Error::Unprocessable)?;
        if patch.steps > MAX_STEPS {
            return Err(Error::TooLarge(format!(
                "The allowed maximum steps of a JSON patch is {MAX_STEPS}"
            )));
        }
    }
    Ok(patch.document)
}

/// A document while a patch is applied, and the limits of the patch.
struct Patch {
    document: Value,
    /// The nesting depth is at most this.
    depth: usize,
    /// How many bytes all copies have added.
    copied: usize,
    /// How many list items were shifted, and how many values were visited to find out their depth.
    steps: usize,
}

impl Patch {
    fn apply(&mut self, operation: &Value) -> Result<(), String> {
        let kind = operation
            .get("op")
            .and_then(Value::as_str)
            .unwrap_or("unknown");
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let path = text("path")
            .ok_or_else(|| format!("{kind} operation failed to decode path: missing value"));
        let from = text("from")
            .ok_or_else(|| format!("{kind} operation failed to decode from: missing value"));
        let value = operation.get("value");
        match kind {
            "add" => {
                let (path, value) = (path?, value.unwrap_or(&Value::Null));
                self.check_depth(path, depth(value))?;
                let added = self.add(path, value.clone());
                added.map_err(|why| failed("add", path, &why))
            }
            "remove" => {
                let path = path?;
                let removed = self.remove(path).map(drop);
                removed.map_err(|why| failed("remove", path, &why))
            }
            "replace" => {
                let (path, value) = (path?, value.unwrap_or(&Value::Null));
                self.check_depth(path, depth(value))?;
                replace(&mut self.document, path, value)
            }
            "test" => test(&mut self.document, path?, value),
            "move" => {
                let from = from?;
                let value = self.remove(from)?;
                let path = path?;
                self.check_moved_depth(from, path, &value)?;
                self.add(path, value)
            }
            "copy" => {
                let from = from?;
                let value = self.copy(from)?;
                let path = path?;
                self.check_moved_depth(from, path, &value)?;
                self.add(path, value)
            }
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn copy(&mut self, from: &str) -> Result<Value, String> {
        let value = get(&mut self.document, from)?.unwrap_or(&Value::Null);
        let copied = self.copied.saturating_add(marshal(value).len());
        if copied > MAX_COPIED {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
            ));
        }
        let value = value.clone();
        self.copied = copied;
        Ok(value)
    }

    /// Rejects a value of some depth that would make the document nest too deep.
    fn check_depth(&mut self, path: &str, depth: usize) -> Result<(), String> {
        self.depth = self.depth.max(level(path).saturating_add(depth));
        if self.depth > MAX_BODY_DEPTH {
            return Err(EXCEEDED.to_owned());
        }
        Ok(())
    }

    /// Like [`Self::check_depth`], for a value of the document, whose depth is found out only if it matters.
    fn check_moved_depth(&mut self, from: &str, path: &str, value: &Value) -> Result<(), String> {
        let at_most = self.depth.saturating_sub(level(from));
        if level(path).saturating_add(at_most) <= MAX_BODY_DEPTH {
            return self.check_depth(path, at_most);
        }
        self.steps = self
            .steps
            .saturating_add(count(value))
            .saturating_add(count(&self.document));
        self.depth = depth(&self.document);
        self.check_depth(path, depth(value))
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), String> {
        let Target { container, token } = find(&mut self.document, path)?;
        match container {
            Container::Object(fields) => {
                fields.insert(token, value);
            }
            Container::Array(items) if token == "-" => items.push(value),
            Container::Array(items) => {
                let index = resolve_index(&token, items.len().saturating_add(1))?;
                if index > items.len() {
                    return Err(invalid_index(index));
                }
                self.steps = self.steps.saturating_add(items.len() - index);
                items.insert(index, value);
            }
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<Value, String> {
        let Target { container, token } = find(&mut self.document, path)?;
        match container {
            Container::Object(fields) => fields
                .remove(&token)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {token}: missing value")),
            Container::Array(items) => {
                let index = resolve_index(&token, items.len())?;
                if index >= items.len() {
                    return Err(invalid_index(index));
                }
                self.steps = self.steps.saturating_add(items.len() - index);
                Ok(items.remove(index))
            }
        }
    }
}

/// How many containers a path goes through.
fn level(path: &str) -> usize {
    path.split('/').count().saturating_sub(1)
}

/// The number of nested lists and maps.
fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        _ => return 0,
    };
    deepest.unwrap_or(0).saturating_add(1)
}

/// The number of values.
fn count(value: &Value) -> usize {
    let items: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    };
    items.saturating_add(1)
}

/// A container in the document, and the last reference token of a path.
struct Target<'d> {
    container: Container<'d>,
    token: String,
}

enum Container<'d> {
    Object(&'d mut Map<String, Value>),
    Array(&'d mut Vec<Value>),
}

fn find<'d>(document: &'d mut Value, path: &str) -> Result<Target<'d>, String> {
    let target = || {
        let (_, tokens) = path.split_once('/')?;
        let mut tokens: Vec<String> = tokens.split('/').map(unescape).collect();
        let token = tokens.pop()?;
        let mut value = document;
        for token in tokens {
            value = match value {
                Value::Object(fields) => fields.get_mut(&token)?,
                Value::Array(items) => {
                    let index = resolve_index(&token, items.len()).ok()?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
        }
        let container = match value {
            Value::Object(fields) => Container::Object(fields),
            Value::Array(items) => Container::Array(items),
            _ => return None,
        };
        Some(Target { container, token })
    };
    target().ok_or_else(|| missing_path(path))
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn invalid_index(index: impl fmt::Display) -> String {
    format!("Unable to access invalid index: {index}: invalid index referenced")
}

/// The index that a reference token refers to. Negative numbers count from the end.
fn resolve_index(token: &str, length: usize) -> Result<usize, String> {
    let invalid = || invalid_index(token);
    let number: i64 = token
        .parse()
        .map_err(|_| format!("invalid index {token}"))?;
    let length = i64::try_from(length).map_err(|_| invalid())?;
    let number = if number < 0 { number + length } else { number };
    usize::try_from(number).map_err(|_| invalid())
}

fn get<'d>(document: &'d mut Value, path: &str) -> Result<Option<&'d Value>, String> {
    let Target { container, token } = find(document, path)?;
    match container {
        Container::Object(fields) => Ok(fields.get(&token)),
        Container::Array(items) => {
            let item = items.get(resolve_index(&token, items.len())?);
            item.map(Some).ok_or_else(|| invalid_index(token))
        }
    }
}

/// Why an operation failed, as the library of kube-apiserver explains it.
fn failed(operation: &str, path: &str, why: &str) -> String {
    if why.starts_with(NOT_APPLICABLE) {
        return format!("{operation} {why}");
    }
    format!("error in {operation} for path: '{path}': {why}")
}

fn missing_path(path: &str) -> String {
    format!("{NOT_APPLICABLE}: doc is missing path: {path:?}: missing value")
}

fn replace(document: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    let value = value.clone();
    if path.is_empty() {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err("replace operation value must be object or array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    let Target { container, token } = find(document, path)?;
    match container {
        Container::Object(fields) => {
            fields.insert(token, value);
        }
        Container::Array(items) => {
            let index = resolve_index(&token, items.len())?;
            let item = items.get_mut(index).ok_or_else(|| missing_path(path))?;
            *item = value;
        }
    }
    Ok(())
}

fn test(document: &mut Value, path: &str, value: Option<&Value>) -> Result<(), String> {
    let found = if path.is_empty() {
        Some(&*document)
    } else {
        get(document, path)?
    };
    let found = found.unwrap_or(&Value::Null);
    if found == value.unwrap_or(&Value::Null) {
        Ok(())
    } else {
        Err(format!("testing value {path} failed: {TEST_FAILED}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn moves(count: usize, from: &str, path: &str) -> Vec<Value> {
        let there = json!({"op": "move", "from": from, "path": path});
        let back = json!({"op": "move", "from": path, "path": from});
        [there, back].into_iter().cycle().take(count).collect()
    }

    #[test]
    fn ten_thousand_moves_of_a_large_value_take_no_time() {
        let large: Vec<Value> = (0..100_000).map(|number| json!([number])).collect();
        let document = json!({"large": large, "other": {}});
        let start = Instant::now();
        let moved = apply(document.clone(), &moves(10_000, "/large", "/other/large")).unwrap();
        assert_eq!(moved, document);
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn moves_in_a_long_list_are_limited() {
        let long: Vec<Value> = (0..100_000).map(Value::from).collect();
        let error = apply(json!({"long": long}), &moves(10_000, "/long/0", "/other")).unwrap_err();
        assert_eq!(error.code(), 413);
        assert_eq!(
            error.to_string(),
            "The allowed maximum steps of a JSON patch is 20000000"
        );
    }

    #[test]
    fn more_than_ten_thousand_operations_are_rejected() {
        let error = apply(json!({}), &moves(10_001, "/a", "/b")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
    }

    #[test]
    fn moves_and_copies_do_not_nest_values_too_deep() {
        let document: Map<String, Value> = (0..1000)
            .map(|number| (format!("k{number}"), json!({})))
            .collect();
        for op in ["move", "copy"] {
            let nest = (1..1000).map(|number| {
                let from = format!("/k{}", number - 1);
                json!({"op": op, "from": from, "path": format!("/k{number}/x")})
            });
            let error = apply(document.clone().into(), &nest.collect::<Vec<_>>()).unwrap_err();
            assert_eq!(error, Error::Unprocessable(EXCEEDED.to_owned()));
        }
    }

    #[test]
    fn moving_back_and_forth_at_the_limit_works() {
        let deep = (1..MAX_BODY_DEPTH - 1).fold(json!([]), |value, _| json!([value]));
        let document = json!({"deep": deep, "other": {}, "shallow": {}});
        let operations = moves(1000, "/shallow", "/other/shallow");
        assert_eq!(apply(document.clone(), &operations), Ok(document));
    }
}
