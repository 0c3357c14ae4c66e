//! Validates `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`.

use outrigger_apimachinery::status::field;
use serde_json::Value;

use super::{Object, field_error, flag, list, object, text};

pub(super) fn validate(schema: &Object, path: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    validate_map_type(schema, path, &mut errors);
    validate_list_type(schema, path, &mut errors);
    if text(schema, "x-kubernetes-list-type") == "map" {
        validate_map_list(schema, path, &mut errors);
    }
    validate_items(schema, path, &mut errors);
    errors
}

fn type_error(path: &str, schema: &Object, detail: &str) -> field::Error {
    let field = format!("{path}.type");
    match text(schema, "type") {
        "" => field::Error::required(field, detail),
        type_ => field_error::invalid(field, type_, detail),
    }
}

fn validate_map_type(schema: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let Some(map_type) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) else {
        return;
    };
    if text(schema, "type") != "object" {
        errors.push(type_error(
            path,
            schema,
            "must be object if x-kubernetes-map-type is specified",
        ));
    }
    if !matches!(map_type, "atomic" | "granular") {
        let field = format!("{path}.x-kubernetes-map-type");
        errors.push(field_error::not_supported(
            field,
            map_type,
            &["atomic", "granular"],
        ));
    }
}

fn validate_list_type(schema: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let field = format!("{path}.x-kubernetes-list-type");
    if let Some(list_type) = list_type {
        if text(schema, "type") != "array" {
            errors.push(type_error(
                path,
                schema,
                "must be array if x-kubernetes-list-type is specified",
            ));
        } else if list_type == "set"
            && let Some(items) = object(schema, "items")
        {
            validate_set_items(items, path, errors);
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"];
            errors.push(field_error::not_supported(
                field.as_str(),
                list_type,
                &supported,
            ));
        }
    }
    if !list(schema, "x-kubernetes-list-map-keys").is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(field::Error::required(field, detail)),
            Some("map") => {}
            Some(other) => errors.push(field_error::invalid(field, other, detail)),
        }
    }
}

/// Items of sets are compared as a whole, so they must be atomic.
fn validate_set_items(items: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.get("x-kubernetes-list-type").cloned();
    let is_atomic = |name: &str| text(items, name) == "atomic";
    match text(items, "type") {
        "array" if list_type.is_some() && !is_atomic("x-kubernetes-list-type") => {
            let field = format!("{path}.items.x-kubernetes-list-type");
            errors.push(field_error::invalid(field, list_type, detail));
        }
        "object" if !is_atomic("x-kubernetes-map-type") => {
            let field = format!("{path}.items.x-kubernetes-map-type");
            errors.push(field_error::invalid(field, list_type, detail));
        }
        _ => {}
    }
}

fn validate_map_list(schema: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let keys = list(schema, "x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(field::Error::required(field.as_str(), detail));
    }
    let Some(items) = object(schema, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(field::Error::required(format!("{path}.items"), detail));
        return;
    };
    let type_ = text(items, "type");
    if type_ != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(field_error::invalid(
            format!("{path}.items.type"),
            type_,
            detail,
        ));
        return;
    }
    let properties = object(items, "properties");
    for (i, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match properties.and_then(|properties| object(properties, name)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let field = format!("{path}.items.properties[{name}].type");
                errors.push(field_error::invalid(field, type_, detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(field_error::invalid(field.as_str(), keys.to_vec(), detail));
            }
        }
        if keys[..i].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(field_error::invalid(field.as_str(), keys.to_vec(), detail));
        }
    }
}

/// Items of sets and maps cannot be null, nor can their keys be.
fn validate_items(schema: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) = object(schema, "items").filter(|_| matches!(list_type, "set" | "map")) else {
        return;
    };
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(field::Error::forbidden(
            format!("{path}.items.nullable"),
            detail,
        ));
    }
    if list_type == "set" {
        return;
    }
    let required = list(items, "required");
    for key in list(schema, "x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or_default();
        let Some(property) =
            object(items, "properties").and_then(|properties| object(properties, name))
        else {
            continue;
        };
        let field = format!("{path}.items.properties[{name}]");
        if !required.contains(key) && property.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(field::Error::required(format!("{field}.default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(field::Error::forbidden(format!("{field}.nullable"), detail));
        }
    }
}
