//! Constructors of field errors that format values as Go does.

use outrigger_apimachinery::status::field::{BadValue, Error, ErrorType, IntoField};
use outrigger_gostd::fmt::sprint_json;
use outrigger_gostd::json::marshal;
use outrigger_gostd::strconv::quote;
use serde_json::Value;

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
        Value::String(text) => quote(text),
        Value::Number(_) => sprint_json(value),
        other => marshal(other),
    })
}
