//! Access to the fields of JSON objects. Absent fields, and fields of another type, count as empty.

use serde_json::{Map, Value, json};

/// The text of a value.
pub fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    as_text(&object[key])
}

pub fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

pub fn map<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object[key].as_object().into_iter().flatten()
}

pub fn texts(values: &[Value]) -> impl Iterator<Item = &str> {
    values
        .iter()
        .map(|value| value.as_str().unwrap_or_default())
}

pub fn number(object: &Value, key: &str) -> i64 {
    object[key].as_i64().unwrap_or_default()
}

/// Like [`text`], for a map.
pub fn str_field<'a>(object: &'a Map<String, Value>, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Sets the fields that are absent.
pub fn set_missing<const N: usize>(object: &mut Map<String, Value>, fields: [(&str, Value); N]) {
    for (key, value) in fields {
        object.entry(key).or_insert(value);
    }
}

/// Sets a field, or removes it.
pub fn set_or_remove(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => object.insert(key.to_owned(), value),
        None => object.remove(key),
    };
}

/// The object in a field, inserted if absent. `None` if the field has another type.
pub fn object_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    object
        .entry(key)
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// The objects in a list.
pub fn items_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    object
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}
