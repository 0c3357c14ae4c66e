//! `apiVersion` and `kind` of embedded resources (`x-kubernetes-embedded-resource`).

use outrigger_apimachinery::status::field;
use serde_json::{Map, Value};

use crate::schema::SchemaRef;
use crate::schema::field_error;

/// Validates all embedded resources, but not the object itself.
pub fn validate_embedded_resources(value: &Value, schema: SchemaRef<'_>) -> Vec<field::Error> {
    let mut errors = Vec::new();
    validate("", value, schema, &mut errors);
    errors
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn validate(path: &str, value: &Value, schema: SchemaRef<'_>, errors: &mut Vec<field::Error>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                validate_type_meta(path, fields, errors);
            }
            for (name, value) in fields {
                if let Some(schema) = schema.property(name) {
                    validate(&join(path, name), value, schema, errors);
                } else if let Some(schema) = schema.additional() {
                    validate(&format!("{path}[{name}]"), value, schema, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                for (i, item) in items.iter().enumerate() {
                    validate(&format!("{path}[{i}]"), item, schema, errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn validate_type_meta(path: &str, fields: &Map<String, Value>, errors: &mut Vec<field::Error>) {
    for name in ["apiVersion", "kind"] {
        let field = join(path, name);
        match fields.get(name) {
            None => errors.push(field::Error::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(field_error::invalid(
                    field,
                    text.as_str(),
                    "must not be empty",
                ));
            }
            Some(Value::String(text)) => {
                if let Some(detail) = type_meta_error(name, text) {
                    errors.push(field_error::invalid(field, text.as_str(), detail));
                }
            }
            Some(other) => errors.push(field_error::invalid(
                field,
                other.clone(),
                "must be a string",
            )),
        }
    }
}

fn type_meta_error(name: &str, text: &str) -> Option<String> {
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
