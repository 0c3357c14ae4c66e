//! JSON as a value of templates.

use outrigger_gotmpl::value::Value as GoValue;
use serde_json::Value;

/// Converts JSON as Helm's client decodes objects: integers stay integers, so that `1000000` is not printed as `1e+06`.
pub fn template_value(value: &Value) -> GoValue {
    match value {
        Value::Null => GoValue::Nil,
        Value::Bool(flag) => GoValue::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => GoValue::Int64(integer),
            None => GoValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => GoValue::str(text.as_str()),
        Value::Array(items) => GoValue::list(items.iter().map(template_value).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| (key.as_str().into(), template_value(value)));
            GoValue::map(fields.collect())
        }
    }
}
