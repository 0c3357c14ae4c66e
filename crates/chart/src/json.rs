//! Between JSON trees and template values.

use outrigger_gotmpl::value::{Map, MapType, Str, Value};

/// A template value, as Go's JSON decoder makes it: every number is a float.
pub(crate) fn to_value(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::str(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(to_value).collect()),
        Json::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (Str::from(key.as_str()), to_value(value)))
                .collect();
            Value::Map(Map::from_entries(MapType::Any, entries))
        }
    }
}

/// The JSON tree of a template value; integral floats become integers, as they are printed without a point.
pub(crate) fn from_value(value: &Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(n) | Value::Int64(n) => Json::from(*n),
        Value::Uint8(n) => Json::from(*n),
        Value::Float(x) => from_float(*x),
        Value::Str(text) => Json::String(text.to_text().into_owned()),
        Value::List(list) => Json::Array(list.items().iter().map(from_value).collect()),
        Value::Map(map) => map.with_entries(|entries| {
            Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.to_text().into_owned(), from_value(value)))
                    .collect(),
            )
        }),
        Value::Object(object) => from_value(&object.to_plain()),
        _ => Json::Null,
    }
}

fn from_float(x: f64) -> serde_json::Value {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::float_cmp,
        clippy::cast_precision_loss,
        reason = "only taken when the integer says exactly the same"
    )]
    if x.abs() < 9_007_199_254_740_992.0 && (x as i64) as f64 == x {
        return serde_json::Value::from(x as i64);
    }
    serde_json::Value::from(x)
}
