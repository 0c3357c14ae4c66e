//! `index` and `slice` of text/template.

use crate::function::{Call, CallError, CallResult};
use crate::value::{Contents, Element, List, MapType, Str, Value};

/// `index x 1 2` is `x[1][2]`.
pub(super) fn index(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let [item, indexes @ ..] = args else {
        return Err(CallError::returned("index of untyped nil"));
    };
    if item.is_nil() {
        return Err(CallError::returned("index of untyped nil"));
    }
    let mut item = item.clone();
    for index in indexes {
        item = at(&item, index)?;
    }
    Ok(item)
}

fn at(item: &Value, index: &Value) -> CallResult {
    match item {
        Value::Nil => Err(CallError::returned("index of nil pointer")),
        Value::Str(text) => {
            let at = position(index, text.len())?;
            let byte = text.as_bytes().get(at).copied();
            byte.map(Value::Uint8)
                .ok_or_else(|| CallError::returned("reflect: string index out of range"))
        }
        Value::List(list) => {
            let at = position(index, list.items().len())?;
            let item = list.items().get(at).cloned();
            item.ok_or_else(|| CallError::returned("reflect: slice index out of range"))
        }
        Value::Map(map) => {
            let key = match index {
                Value::Str(key) => key,
                Value::Nil => {
                    return Err(CallError::returned(
                        "value is nil; should be of type string",
                    ));
                }
                other => {
                    let found = other.type_name();
                    let message = format!("value has type {found}; should be string");
                    return Err(CallError::Returned(message));
                }
            };
            let missing = match map.ty() {
                MapType::Strings => Value::Str(Str::default()),
                _ => Value::Nil,
            };
            Ok(map.get(key.as_bytes()).unwrap_or(missing))
        }
        Value::Object(object) => match object.contents() {
            Contents::List(list) => at(&Value::List(list), index),
            Contents::Map(map) => at(&Value::Map(map), index),
            Contents::None => {
                let found = object.type_name().trim_start_matches('*');
                let message = format!("can't index item of type {found}");
                Err(CallError::Returned(message))
            }
        },
        other => {
            let message = format!("can't index item of type {}", other.type_name());
            Err(CallError::Returned(message))
        }
    }
}

/// An index that is at most `limit`.
fn position(index: &Value, limit: usize) -> Result<usize, CallError> {
    let n = match index {
        Value::Int(n) | Value::Int64(n) => *n,
        Value::Uint8(n) => i64::from(*n),
        Value::Uint64(n) => n.cast_signed(),
        Value::Nil => return Err(CallError::returned("cannot index slice/array with nil")),
        other => {
            let message = format!("cannot index slice/array with type {}", other.type_name());
            return Err(CallError::Returned(message));
        }
    };
    match usize::try_from(n) {
        Ok(at) if at <= limit => Ok(at),
        _ => Err(CallError::Returned(format!("index out of range: {n}"))),
    }
}

/// `slice x 1 2` is `x[1:2]`. Helm overrides it with Sprig's `slice`.
pub(super) fn slice(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let [item, indexes @ ..] = args else {
        return Err(CallError::returned("slice of untyped nil"));
    };
    if indexes.len() > 3 {
        let message = format!("too many slice indexes: {}", indexes.len());
        return Err(CallError::Returned(message));
    }
    let length = match item {
        Value::Nil => return Err(CallError::returned("slice of untyped nil")),
        Value::Str(_) if indexes.len() == 3 => {
            return Err(CallError::returned("cannot 3-index slice a string"));
        }
        Value::Str(text) => text.len(),
        Value::List(list) => list.items().len(),
        other => {
            let message = format!("can't slice item of type {}", other.type_name());
            return Err(CallError::Returned(message));
        }
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, length)?;
    }
    let [start, end, capacity] = bounds;
    for (low, high) in [(start, end), (end, capacity)] {
        if low > high {
            let message = format!("invalid slice index: {low} > {high}");
            return Err(CallError::Returned(message));
        }
    }
    Ok(match item {
        Value::Str(text) => Value::str(&text.as_bytes()[start..end]),
        Value::List(list) => sublist(list.element(), &list.items()[start..end]),
        _ => Value::Nil,
    })
}

fn sublist(element: Element, items: &[Value]) -> Value {
    Value::List(List::new(element, items.to_vec()))
}
