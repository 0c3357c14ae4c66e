//! Finds fields in objects of our kinds that the kinds do not have, or whose values are not of their type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use outrigger_apimachinery::nearest::nearest;
use serde_json::{Map, Value};

use super::Error;
use super::fields::mismatch;

const OBJECT: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Fails at the first field of an object that the definition of its kind does not have, or that has another type.
pub(super) fn check(object: &Value, definition: &CustomResourceDefinition) -> Result<(), Error> {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    check_names(&fields(object), &OBJECT, "")?;
    check_names(&fields(&object["metadata"]), &METADATA, "metadata.")?;
    let version = definition.spec.versions.first();
    let schema = version.and_then(|version| version.schema.as_ref());
    let schema = serde_json::to_value(schema).unwrap_or_default();
    let spec = &schema["openAPIV3Schema"]["properties"]["spec"];
    check_value(&object["spec"], spec, "spec")
}

fn check_value(value: &Value, schema: &Value, path: &str) -> Result<(), Error> {
    check_type(value, schema, path)?;
    match value {
        Value::Array(items) => items.iter().enumerate().try_for_each(|(at, item)| {
            check_value(item, &schema["items"], &format!("{path}[{at}]"))
        }),
        Value::Object(fields) => check_object(fields, schema, path),
        _ => Ok(()),
    }
}

fn check_type(value: &Value, schema: &Value, path: &str) -> Result<(), Error> {
    let (expected, is_met) = match schema["type"].as_str() {
        _ if value.is_null() => return Ok(()),
        Some("string") => ("a string", value.is_string()),
        Some("integer") => ("an integer", value.is_i64() || value.is_u64()),
        Some("number") => ("a number", value.is_number()),
        Some("boolean") => ("a boolean", value.is_boolean()),
        Some("array") => ("a list", value.is_array()),
        Some("object") => ("an object", value.is_object()),
        _ => return Ok(()),
    };
    if !is_met {
        return Err(mismatch(path, expected, value));
    }
    check_choice(value, schema, path)?;
    let is_base64 = |text: &str| STANDARD.decode(text.trim()).is_ok();
    if schema["format"] == "byte" && !value.as_str().is_some_and(is_base64) {
        // The value may be a credential, which is not printed.
        return Err(Error::Invalid {
            path: path.to_owned(),
            reason: "must be base64-encoded".to_owned(),
            hint: Some("echo -n PASSWORD | base64"),
        });
    }
    Ok(())
}

/// Checks a value of which the schema lists all that are allowed.
fn check_choice(value: &Value, schema: &Value, path: &str) -> Result<(), Error> {
    let Some(choices) = schema["enum"].as_array() else {
        return Ok(());
    };
    if choices.contains(value) {
        return Ok(());
    }
    let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    let reason = format!("{value} is not one of {}", choices.join(", "));
    Err(Error::invalid(path, reason))
}

fn check_object(fields: &Map<String, Value>, schema: &Value, path: &str) -> Result<(), Error> {
    let Some(properties) = schema["properties"].as_object() else {
        // A map, or any object.
        let values = &schema["additionalProperties"];
        return fields
            .iter()
            .try_for_each(|(name, value)| check_value(value, values, &format!("{path}.{name}")));
    };
    if schema["x-kubernetes-preserve-unknown-fields"] != Value::Bool(true) {
        let known: Vec<&str> = properties.keys().map(String::as_str).collect();
        check_names(fields, &known, &format!("{path}."))?;
    }
    fields.iter().try_for_each(|(name, value)| {
        let property = properties.get(name).unwrap_or(&Value::Null);
        check_value(value, property, &format!("{path}.{name}"))
    })
}

fn check_names(fields: &Map<String, Value>, known: &[&str], prefix: &str) -> Result<(), Error> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::UnknownField {
            path: format!("{prefix}{name}"),
            nearest: nearest(name, known).map(str::to_owned),
        }),
    }
}
