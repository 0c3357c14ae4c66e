//! Constructors of field errors that format values as Go does.

use outrigger_apimachinery::status::field::{BadValue, Error, ErrorType, IntoField};
use serde_json::Value;

use super::{go_json, go_quote, go_value};

pub(super) fn new(
    error_type: ErrorType,
    field: impl IntoField,
    value: Option<&Value>,
    detail: impl Into<String>,
) -> Error {
    Error::new(error_type, field, value.map(bad_value), detail)
}

pub(super) fn invalid(
    field: impl IntoField,
    value: impl Into<Value>,
    detail: impl Into<String>,
) -> Error {
    Error::invalid(field, bad_value(&value.into()), detail)
}

pub(super) fn duplicate(field: impl IntoField, value: impl Into<Value>) -> Error {
    Error::duplicate(field, bad_value(&value.into()))
}

pub(super) fn not_supported(
    field: impl IntoField,
    value: impl Into<Value>,
    supported: &[&str],
) -> Error {
    Error::not_supported(field, bad_value(&value.into()), supported)
}

fn bad_value(value: &Value) -> BadValue {
    BadValue::verbatim(match value {
        Value::String(text) => go_quote(text),
        Value::Number(_) => go_value(value),
        other => go_json(other),
    })
}
