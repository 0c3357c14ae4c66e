//! JSON patch, with the semantics of the library of kube-apiserver: `replace` may add a field, a missing value equals
//! null in a `test`, and negative indices count from the end.

use std::fmt;

use outrigger_gostd::json::marshal;
use serde_json::{Map, Value};

use super::{Error, depth};
use crate::schema::MAX_DEPTH;

const MAX_OPERATIONS: usize = 10_000;
/// The maximum number of bytes that all copies of a patch may add.
const MAX_COPIED: usize = 3 * 1024 * 1024;

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

pub(super) fn apply(mut document: Value, operations: &[Value]) -> Result<Value, Error> {
    if operations.len() > MAX_OPERATIONS {
        return Err(Error::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let mut copied = 0;
    for operation in operations {
        apply_operation(&mut document, operation, &mut copied).map_err(Error::Unprocessable)?;
    }
    Ok(document)
}

fn apply_operation(
    document: &mut Value,
    operation: &Value,
    copied: &mut usize,
) -> Result<(), String> {
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
            let path = path?;
            add(document, path, value.cloned().unwrap_or(Value::Null))
        }
        "remove" => remove(document, path?).map(drop),
        "replace" => replace(document, path?, value),
        "test" => test(document, path?, value),
        "move" => {
            let value = remove(document, from?)?;
            add(document, path?, value)
        }
        "copy" => {
            let from = from?;
            let value = get(document, from)?.cloned().unwrap_or(Value::Null);
            *copied += marshal(&value).len();
            if *copied > MAX_COPIED {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED}"
                ));
            }
            add(document, path?, value)
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
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

fn missing_path(path: &str) -> String {
    format!("operation does not apply: doc is missing path: {path:?}: missing value")
}

/// Like [`find`], for a value to insert there, which must not make the document nest too deep.
fn find_for<'d>(document: &'d mut Value, path: &str, value: &Value) -> Result<Target<'d>, String> {
    if depth(value) + path.split('/').count() > MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    find(document, path)
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let Target { container, token } = find_for(document, path, &value)?;
    match container {
        Container::Object(fields) => {
            fields.insert(token, value);
        }
        Container::Array(items) if token == "-" => items.push(value),
        Container::Array(items) => {
            let index = resolve_index(&token, items.len() + 1)?;
            if index > items.len() {
                return Err(invalid_index(index));
            }
            items.insert(index, value);
        }
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let Target { container, token } = find(document, path)?;
    match container {
        Container::Object(fields) => fields
            .remove(&token)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {token}: missing value")),
        Container::Array(items) => {
            let index = resolve_index(&token, items.len())?;
            if index >= items.len() {
                return Err(invalid_index(index));
            }
            Ok(items.remove(index))
        }
    }
}

fn replace(document: &mut Value, path: &str, value: Option<&Value>) -> Result<(), String> {
    let value = value.cloned().unwrap_or(Value::Null);
    if path.is_empty() {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err("replace operation value must be object or array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    let Target { container, token } = find_for(document, path, &value)?;
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
        Err(format!("testing value {path} failed: test failed"))
    }
}
