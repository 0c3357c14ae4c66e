//! JSON merge patch.

use serde_json::{Map, Value};

pub(super) fn apply(target: &mut Value, patch: Map<String, Value>) {
    let Value::Object(fields) = target else {
        *target = Value::Object(without_nulls(patch));
        return;
    };
    for (name, value) in patch {
        match (value, fields.get_mut(&name)) {
            (Value::Null, _) => {
                fields.remove(&name);
            }
            (Value::Object(patch), Some(target @ Value::Object(_))) => apply(target, patch),
            (mut value, _) => {
                drop_nulls(&mut value);
                fields.insert(name, value);
            }
        }
    }
}

fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    let mut value = Value::Object(fields);
    drop_nulls(&mut value);
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Removes nulls that delete nothing, except from lists.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
