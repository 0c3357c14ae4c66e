//! The rules for list and map types.

use serde_json::Value;

use super::{FieldError, Object, flag, list, object, text};

pub(super) fn check(schema: &Object, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_map_type(schema, path, &mut errors);
    check_list_type(schema, path, &mut errors);
    if text(schema, "x-kubernetes-list-type") == "map" {
        check_keyed_list(schema, path, &mut errors);
    }
    check_items(schema, path, &mut errors);
    errors
}

fn wrong_type(path: &str, schema: &Object, detail: &str) -> FieldError {
    let field = format!("{path}.type");
    match text(schema, "type") {
        "" => FieldError::required(field, detail),
        type_ => FieldError::invalid(field, type_, detail),
    }
}

fn check_map_type(schema: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let Some(map_type) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) else {
        return;
    };
    if text(schema, "type") != "object" {
        errors.push(wrong_type(
            path,
            schema,
            "must be object if x-kubernetes-map-type is specified",
        ));
    }
    if !matches!(map_type, "atomic" | "granular") {
        let field = format!("{path}.x-kubernetes-map-type");
        errors.push(FieldError::not_supported(
            field,
            map_type,
            &["atomic", "granular"].map(str::to_owned),
        ));
    }
}

fn check_list_type(schema: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let field = format!("{path}.x-kubernetes-list-type");
    if let Some(list_type) = list_type {
        if text(schema, "type") != "array" {
            errors.push(wrong_type(
                path,
                schema,
                "must be array if x-kubernetes-list-type is specified",
            ));
        } else if list_type == "set"
            && let Some(items) = object(schema, "items")
        {
            check_set_items(items, path, errors);
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"].map(str::to_owned);
            errors.push(FieldError::not_supported(
                field.as_str(),
                list_type,
                &supported,
            ));
        }
    }
    if !list(schema, "x-kubernetes-list-map-keys").is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(field, detail)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(field, other, detail)),
        }
    }
}

/// Items of sets are compared as a whole, so they must be one value.
fn check_set_items(items: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let list_type = items.get("x-kubernetes-list-type").cloned();
    let is_atomic = |name: &str| text(items, name) == "atomic";
    match text(items, "type") {
        "array" if list_type.is_some() && !is_atomic("x-kubernetes-list-type") => {
            let field = format!("{path}.items.x-kubernetes-list-type");
            errors.push(FieldError::invalid(field, list_type, detail));
        }
        "object" if !is_atomic("x-kubernetes-map-type") => {
            let field = format!("{path}.items.x-kubernetes-map-type");
            errors.push(FieldError::invalid(field, list_type, detail));
        }
        _ => {}
    }
}

fn check_keyed_list(schema: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let keys = list(schema, "x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(field.as_str(), detail));
    }
    let Some(items) = object(schema, "items") else {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), detail));
        return;
    };
    let type_ = text(items, "type");
    if type_ != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
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
                errors.push(FieldError::invalid(field, type_, detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(field.as_str(), keys.to_vec(), detail));
            }
        }
        if keys[..i].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(field.as_str(), keys.to_vec(), detail));
        }
    }
}

/// Items of sets and maps must be there, and so must their keys.
fn check_items(schema: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = text(schema, "x-kubernetes-list-type");
    let Some(items) = object(schema, "items").filter(|_| matches!(list_type, "set" | "map")) else {
        return;
    };
    if flag(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(
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
            errors.push(FieldError::required(format!("{field}.default"), detail));
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{field}.nullable"), detail));
        }
    }
}
