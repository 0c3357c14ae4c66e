//! Objects inside objects (`x-kubernetes-embedded-resource`) must say what they are.

use serde_json::{Map, Value};

use crate::schema::SchemaRef;
use crate::schema::field_error::FieldError;

/// Checks `apiVersion` and `kind` of all embedded resources, but not of the object itself.
pub fn check_embedded_resources(value: &Value, schema: SchemaRef<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check("", value, schema, &mut errors);
    errors
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn check(path: &str, value: &Value, schema: SchemaRef<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                check_type(path, fields, errors);
            }
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    check(&join(path, name), value, schema, errors);
                } else if let Some(schema) = schema.additional() {
                    check(&format!("{path}[{name}]"), value, schema, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    check(&format!("{path}[{i}]"), item, schema, errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_type(path: &str, fields: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let field = join(path, name);
        match fields.get(name) {
            None => errors.push(FieldError::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(
                    field,
                    text.as_str(),
                    "must not be empty",
                ));
            }
            Some(Value::String(text)) => {
                if let Some(detail) = problem_of_type(name, text) {
                    errors.push(FieldError::invalid(field, text.as_str(), detail));
                }
            }
            Some(other) => errors.push(FieldError::invalid(
                field,
                other.clone(),
                "must be a string",
            )),
        }
    }
}

fn problem_of_type(name: &str, text: &str) -> Option<String> {
    if name == "apiVersion" {
        let is_version = text.matches('/').count() <= 1;
        return (!is_version).then(|| format!("unexpected GroupVersion string: {text}"));
    }
    let lower = text.to_lowercase();
    let is_label = lower.len() <= 63
        && lower.starts_with(|c: char| c.is_ascii_lowercase())
        && lower.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && lower
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (!is_label).then(|| {
        "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric \
         characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  \
         or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            .to_owned()
    })
}
