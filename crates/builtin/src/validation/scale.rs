//! Validation of the fields of a custom resource that its scale subresource shows.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_gostd::fmt::sprint_json;
use serde_json::Value;

use crate::kinds::Scale;

/// `ValidateScaleSpec`.
pub(super) fn validate_spec(errors: &mut Vec<Error>, object: &Value, scale: &Scale) {
    validate_replicas(errors, object, &scale.spec_replicas);
}

/// `ValidateScaleStatus`.
pub(super) fn validate_status(errors: &mut Vec<Error>, object: &Value, scale: &Scale) {
    validate_replicas(errors, object, &scale.status_replicas);
    let Some(path) = &scale.label_selector else {
        return;
    };
    let mistyped = match nested(object, path) {
        Ok(Some(value)) if !value.is_string() => Some(mistyped(path, value, "string")),
        Ok(_) => None,
        Err(why) => Some(why),
    };
    if let Some(why) = mistyped {
        errors.push(Error::invalid(&Path::root(path), "", why));
    }
}

fn validate_replicas(errors: &mut Vec<Error>, object: &Value, path: &str) {
    let field = Path::root(path);
    let mut push = |value: i64, detail: String| {
        errors.push(Error::invalid(&field, BadValue::from(value), detail));
    };
    let value = match nested(object, path) {
        Ok(None) => return,
        Ok(Some(value)) => value,
        Err(why) => return push(0, why),
    };
    match value.as_i64() {
        None => push(0, mistyped(path, value, "int64")),
        Some(count) if count < 0 => push(count, "should be a non-negative integer".to_owned()),
        Some(count) if count > i64::from(i32::MAX) => {
            push(
                count,
                format!("should be less than or equal to {}", i32::MAX),
            );
        }
        Some(_) => {}
    }
}

/// `NestedFieldNoCopy`: the value at a path, or none; an error if there is something else than a map on the way.
fn nested<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = object;
    let mut passed = String::new();
    for name in path.split('.') {
        passed.push('.');
        passed.push_str(name);
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(name) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => return Err(mistyped(&passed, other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

fn mistyped(path: &str, value: &Value, expected: &str) -> String {
    let dot = if path.starts_with('.') { "" } else { "." };
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let shown = sprint_json(value);
    format!("{dot}{path} accessor error: {shown} is of the type {found}, expected {expected}")
}
