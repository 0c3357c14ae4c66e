//! Reports values that cannot be decoded into the Go type of a built-in kind.

use outrigger_apimachinery::{quantity, status::field};
use outrigger_gostd::base64;
use outrigger_gostd::strconv::quote;
use serde_json::Value;

use super::strict::json_type;
use super::{SchemaRef, Type};

pub(super) const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Why a request body cannot be decoded: the message of Go's decoder, which kube-apiserver returns verbatim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

impl DecodeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<field::Error> for DecodeError {
    fn from(error: field::Error) -> Self {
        Self(error.to_string())
    }
}

/// Returns the first type mismatch:
/// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`.
pub fn check_types(value: &Value, schema: SchemaRef<'_>) -> Result<(), DecodeError> {
    let mut checker = TypeChecker {
        parent: struct_name(schema),
        path: Vec::new(),
    };
    checker.check(value, schema)
}

struct TypeChecker<'v> {
    /// The struct that has the current field.
    parent: &'v str,
    /// The field names from the root, without map keys and indices.
    path: Vec<&'v str>,
}

impl<'v> TypeChecker<'v> {
    fn check(&mut self, value: &'v Value, schema: SchemaRef<'v>) -> Result<(), DecodeError> {
        let node = schema.node();
        match (node.type_, value) {
            (_, Value::Null)
            | (Type::Boolean, Value::Bool(_))
            | (Type::Number, Value::Number(_)) => Ok(()),
            (Type::Object, Value::Object(fields)) => {
                for (name, value) in fields {
                    if let Some(property) = schema.property(name) {
                        self.field(name, value, property, struct_name(schema))?;
                    } else if let Some(additional) = schema.additional() {
                        self.check(value, additional)?;
                    }
                }
                Ok(())
            }
            (Type::Array, Value::Array(items)) => {
                let Some(schema) = schema.items() else {
                    return Ok(());
                };
                items.iter().try_for_each(|item| self.check(item, schema))
            }
            (Type::String, Value::String(text)) => check_string(text, &node.format),
            (Type::Integer, Value::Number(number)) => {
                let is_in_range = node.format != "int32"
                    || number.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
                if number.as_i64().is_some() && is_in_range {
                    return Ok(());
                }
                Err(self.mismatch(&format!("number {number}"), schema))
            }
            (Type::Scalar, Value::String(_) | Value::Number(_)) => check_quantity(value),
            (Type::Scalar, _) => check_quantity(&Value::Null),
            (Type::Any, _) if node.int_or_string => match value {
                Value::String(_) => Ok(()),
                Value::Number(number)
                    if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
                {
                    Ok(())
                }
                Value::Number(number) => Err(self.mismatch(&format!("number {number}"), schema)),
                other => Err(self.mismatch(json_type(other), schema)),
            },
            (Type::Any, _) => Ok(()),
            (_, other) => Err(self.mismatch(json_type(other), schema)),
        }
    }

    fn field(
        &mut self,
        name: &'v str,
        value: &'v Value,
        schema: SchemaRef<'v>,
        parent: &'v str,
    ) -> Result<(), DecodeError> {
        let outer = std::mem::replace(&mut self.parent, parent);
        self.path.push(name);
        self.check(value, schema)?;
        self.path.pop();
        self.parent = outer;
        Ok(())
    }

    fn mismatch(&self, found: &str, schema: SchemaRef<'_>) -> DecodeError {
        let type_ = go_type(schema);
        if self.path.is_empty() {
            return DecodeError(format!(
                "json: cannot unmarshal {found} into Go value of type {type_}"
            ));
        }
        let (parent, path) = (self.parent, self.path.join("."));
        DecodeError(format!(
            "json: cannot unmarshal {found} into Go struct field {parent}.{path} of type {type_}"
        ))
    }
}

/// The Go name of the struct: the last part of the definition's name.
fn struct_name(schema: SchemaRef<'_>) -> &str {
    let name = schema.node().name.as_deref().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default()
}

fn go_type(schema: SchemaRef<'_>) -> String {
    let node = schema.node();
    if let Some(name) = node.name.as_deref().filter(|_| node.type_ == Type::Object) {
        let mut parts = name.rsplit('.');
        let (kind, version) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        return format!("{version}.{kind}");
    }
    match node.type_ {
        Type::Array => format!("[]{}", schema.items().map_or_else(String::new, go_type)),
        Type::Object => {
            format!(
                "map[string]{}",
                schema
                    .additional()
                    .map_or_else(|| "string".to_owned(), go_type)
            )
        }
        Type::Boolean => "bool".to_owned(),
        Type::Integer if node.format == "int64" => "int64".to_owned(),
        Type::Integer | Type::Any => "int32".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::String if node.format == "byte" => "[]uint8".to_owned(),
        Type::String if node.format == "date-time" => "v1.Time".to_owned(),
        Type::String | Type::Scalar => "string".to_owned(),
    }
}

fn check_quantity(value: &Value) -> Result<(), DecodeError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "x".to_owned(),
    };
    if quantity::canonicalize(text.trim()).is_some() {
        return Ok(());
    }
    Err(DecodeError::new(NOT_A_QUANTITY))
}

fn check_string(text: &str, format: &str) -> Result<(), DecodeError> {
    match format {
        "byte" => base64::decode(text.as_bytes())
            .map(drop)
            .map_err(|error| DecodeError(error.to_string())),
        "date-time" if !super::validate::is_date_time(text) => {
            let text = quote(text);
            let layout = "2006-01-02T15:04:05Z07:00";
            Err(DecodeError(format!(
                "parsing time {text} as {layout:?}: cannot parse {text} as \"2006\""
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::builtin;

    #[track_caller]
    fn check(api_version: &str, kind: &str, value: &Value, expected: &str) {
        let schema = builtin::schema(api_version, kind).unwrap();
        assert_eq!(
            check_types(value, schema.root()).unwrap_err().to_string(),
            expected
        );
    }

    #[test]
    fn messages_are_those_of_gos_decoder() {
        let container =
            |fields: Value| json!({"spec": {"template": {"spec": {"containers": [fields]}}}});
        let begin = "json: cannot unmarshal";
        let cases = [
            (json!({"spec": {"replicas": "x"}}), format!("{begin} string into Go struct field DeploymentSpec.spec.replicas of type int32")),
            (json!({"spec": {"replicas": 1.5}}), format!("{begin} number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32")),
            (json!({"spec": "x"}), format!("{begin} string into Go struct field Deployment.spec of type v1.DeploymentSpec")),
            (json!({"metadata": {"labels": {"a": 1}}}), format!("{begin} number into Go struct field ObjectMeta.metadata.labels of type string")),
            (json!({"metadata": {"labels": []}}), format!("{begin} array into Go struct field ObjectMeta.metadata.labels of type map[string]string")),
            (container(json!({"env": {}})), format!("{begin} object into Go struct field Container.spec.template.spec.containers.env of type []v1.EnvVar")),
            (container(json!({"command": [1]})), format!("{begin} number into Go struct field Container.spec.template.spec.containers.command of type string")),
            (container(json!({"resources": {"limits": {"cpu": "abc"}}})), "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()),
        ];
        for (value, expected) in cases {
            check("apps/v1", "Deployment", &value, &expected);
        }
        check(
            "v1",
            "ConfigMap",
            &json!({"binaryData": {"a": "!!"}}),
            "illegal base64 data at input byte 0",
        );
        let time = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
        check(
            "v1",
            "ConfigMap",
            &json!({"metadata": {"creationTimestamp": "x"}}),
            time,
        );
    }
}
