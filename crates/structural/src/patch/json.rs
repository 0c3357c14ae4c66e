//! JSON patch, with the semantics of the library that a real server uses: an object's field may be replaced before
//! it exists, a missing value equals null in a test, and indices may count from the end.

use serde_json::{Map, Value};

use super::{Error, depth};
use crate::schema::{MAX_DEPTH, go_json};

const MAX_OPERATIONS: usize = 10_000;
/// How many bytes all copies of a patch together may add.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Fields of operations that mean nothing, as strict decoding tells them.
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
        step(&mut document, operation, &mut copied).map_err(Error::Unprocessable)?;
    }
    Ok(document)
}

fn step(document: &mut Value, operation: &Value, copied: &mut usize) -> Result<(), String> {
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
            *copied += go_json(&value).len();
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

/// The object or list that holds the last step of a path, and that step.
fn holder<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let (_, steps) = path.split_once('/')?;
    let mut steps: Vec<String> = steps.split('/').map(decode).collect();
    let last = steps.pop()?;
    let mut place = document;
    for step in steps {
        place = match place {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => {
                let index = index(&step, items.len()).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    matches!(place, Value::Object(_) | Value::Array(_)).then_some((place, last))
}

fn decode(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The place that a step means in a list. Negative numbers count from the end.
fn index(step: &str, length: usize) -> Result<usize, String> {
    let invalid = || format!("Unable to access invalid index: {step}: invalid index referenced");
    let number: i64 = step.parse().map_err(|_| format!("invalid index {step}"))?;
    let length = i64::try_from(length).map_err(|_| invalid())?;
    let number = if number < 0 { number + length } else { number };
    usize::try_from(number).map_err(|_| invalid())
}

fn get<'d>(document: &'d mut Value, path: &str) -> Result<Option<&'d Value>, String> {
    let (holder, step) = holder(document, path).ok_or_else(|| missing(path))?;
    match holder {
        Value::Object(fields) => Ok(fields.get(&step)),
        Value::Array(items) => {
            let place = index(&step, items.len())?;
            let item = items.get(place);
            item.map(Some).ok_or_else(|| {
                format!("Unable to access invalid index: {step}: invalid index referenced")
            })
        }
        _ => Err(missing(path)),
    }
}

fn missing(path: &str) -> String {
    format!("operation does not apply: doc is missing path: {path:?}: missing value")
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if depth(&value) + path.split('/').count() > MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    let (holder, step) = holder(document, path).ok_or_else(|| missing(path))?;
    match holder {
        Value::Object(fields) => {
            fields.insert(step, value);
        }
        Value::Array(items) if step == "-" => items.push(value),
        Value::Array(items) => {
            let place = index(&step, items.len() + 1)?;
            if place > items.len() {
                return Err(format!(
                    "Unable to access invalid index: {place}: invalid index referenced"
                ));
            }
            items.insert(place, value);
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let (holder, step) = holder(document, path).ok_or_else(|| missing(path))?;
    match holder {
        Value::Object(fields) => fields
            .remove(&step)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {step}: missing value")),
        Value::Array(items) => {
            let place = index(&step, items.len())?;
            if place >= items.len() {
                return Err(format!(
                    "Unable to access invalid index: {place}: invalid index referenced"
                ));
            }
            Ok(items.remove(place))
        }
        _ => Err(missing(path)),
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
    if depth(&value) + path.split('/').count() > MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    let (holder, step) = holder(document, path).ok_or_else(|| missing(path))?;
    match holder {
        Value::Object(fields) => {
            fields.insert(step, value);
        }
        Value::Array(items) => {
            let place = index(&step, items.len())?;
            let item = items.get_mut(place).ok_or_else(|| missing(path))?;
            *item = value;
        }
        _ => return Err(missing(path)),
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
