//! What makes a schema structural: every field has a type, and logical junctors only restrict values.

use serde_json::Value;

use super::{FieldError, Object, flag, list, object, objects_in, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn check(root: &Object, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_schema(root, Level::Root, path, &mut errors);
    check_completeness(root, Some(root), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn check_schema(schema: &Object, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let type_ = text(schema, "type");
    let items = object(schema, "items");
    if type_ == "array" && items.is_none() {
        errors.push(FieldError::required(at("items"), "must be specified"));
    }
    if let Some(items) = items {
        check_schema(items, Level::Item, &at("items"), errors);
    }
    for (name, property) in objects_in(schema, "properties") {
        check_schema(
            property,
            Level::Field,
            &format!("{path}.properties[{name}]"),
            errors,
        );
    }
    let additional = schema
        .get("additionalProperties")
        .filter(|value| !value.is_null());
    if let Some(additional) = additional {
        if level == Level::Root {
            errors.push(FieldError::forbidden(
                at("additionalProperties"),
                "must not be used at the root",
            ));
        }
        if let Value::Object(additional) = additional {
            check_schema(
                additional,
                Level::Field,
                &at("additionalProperties"),
                errors,
            );
        }
    }
    check_values(
        schema,
        is_pair(list(schema, "anyOf")),
        starts_with_pair(schema),
        path,
        errors,
    );
    check_extensions(schema, level, path, errors);
    check_metadata(schema, level, path, errors);
}

fn check_extensions(schema: &Object, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let type_ = text(schema, "type");
    let is_open = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let is_embedded = flag(schema, "x-kubernetes-embedded-resource");
    let is_either = flag(schema, "x-kubernetes-int-or-string");
    for (is_set, name) in [
        (is_open, "x-kubernetes-preserve-unknown-fields"),
        (is_embedded, "x-kubernetes-embedded-resource"),
    ] {
        if is_either && is_set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(at(name), true, detail));
        }
    }
    if is_embedded && type_ != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match type_ {
            "" => FieldError::required(at("type"), detail),
            type_ => FieldError::invalid(at("type"), type_, detail),
        });
    } else if type_.is_empty() && !is_either && !is_open {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at("type"), detail));
    }
    if is_embedded
        && schema
            .get("additionalProperties")
            .is_some_and(|value| !value.is_null())
    {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(at("additionalProperties"), detail));
    }
    if level == Level::Root && !type_.is_empty() && type_ != "object" {
        errors.push(FieldError::invalid(
            at("type"),
            type_,
            "must be object at the root",
        ));
    }
    let has_properties =
        object(schema, "properties").is_some_and(|properties| !properties.is_empty());
    if is_embedded && !is_open && !has_properties {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(at("properties"), detail));
    }
}

/// Metadata is known; a schema may restrict the name and nothing else.
fn check_metadata(schema: &Object, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
    for (name, property) in objects_in(schema, "properties") {
        let field = format!("{path}.properties[{name}]");
        let type_ = text(property, "type");
        match name {
            "kind" | "apiVersion" if is_resource && type_ != "string" => {
                errors.push(FieldError::invalid(
                    format!("{field}.type"),
                    type_,
                    "must be string",
                ));
            }
            "metadata" => {
                if is_resource && type_ != "object" {
                    errors.push(FieldError::invalid(
                        format!("{field}.type"),
                        type_,
                        "must be object",
                    ));
                }
                if level == Level::Root && !restricts_names_only(property) {
                    let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
                    errors.push(FieldError::forbidden(field, detail));
                }
            }
            _ => {}
        }
    }
}

fn restricts_names_only(metadata: &Object) -> bool {
    let names = object(metadata, "properties");
    let is_name = |name: &String| name == "name" || name == "generateName";
    names.is_none_or(|names| names.keys().all(is_name))
        && metadata.iter().all(|(name, value)| {
            matches!(name.as_str(), "type" | "properties" | "default") || super::is_empty(value)
        })
}

/// `anyOf: [{type: integer}, {type: string}]`, the one place where junctors may have types.
fn is_pair(any_of: &[Value]) -> bool {
    let is_type = |value: &Value, type_: &str| {
        value
            .as_object()
            .is_some_and(|branch| branch.len() == 1 && text(branch, "type") == type_)
    };
    matches!(any_of, [a, b] if is_type(a, "integer") && is_type(b, "string"))
}

fn starts_with_pair(schema: &Object) -> bool {
    let first = list(schema, "allOf").first().and_then(Value::as_object);
    first.is_some_and(|first| is_pair(list(first, "anyOf")))
}

fn check_values(
    schema: &Object,
    skip_any_of: bool,
    skip_first: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let junctors = ["anyOf", "allOf", "oneOf"];
    for junctor in junctors
        .into_iter()
        .filter(|junctor| !(skip_any_of && *junctor == "anyOf"))
    {
        for (i, branch) in list(schema, junctor).iter().enumerate() {
            if let Value::Object(branch) = branch {
                let skip = skip_first && junctor == "allOf" && i == 0;
                check_branch(branch, skip, &format!("{path}.{junctor}[{i}]"), errors);
            }
        }
    }
    if let Some(not) = object(schema, "not") {
        check_branch(not, false, &format!("{path}.not"), errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(error) = regex::Regex::new(pattern)
    {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default();
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(
            format!("{path}.pattern"),
            pattern,
            detail,
        ));
    }
}

/// What a junctor must not say.
const FORBIDDEN: [(&str, &str); 11] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-embedded-resource",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-int-or-string",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn check_branch(branch: &Object, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    check_values(branch, skip_any_of, false, path, errors);
    if let Some(items) = object(branch, "items") {
        check_branch(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in objects_in(branch, "properties") {
        let path = format!("{path}.properties[{name}]");
        check_branch(property, false, &path, errors);
        if name == "metadata" {
            errors.push(FieldError::forbidden(
                path,
                "must not be specified in a nested context",
            ));
        }
    }
    for (name, detail) in FORBIDDEN {
        if branch
            .get(name)
            .is_some_and(|value| !super::is_empty(value))
        {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), detail));
        }
    }
    for name in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if branch.get(name).is_some_and(|value| !value.is_null()) {
            let detail = "must be undefined to be structural";
            errors.push(FieldError::forbidden(format!("{path}.{name}"), detail));
        }
    }
}

/// Whatever a junctor speaks of must be declared outside of it too.
fn check_completeness(
    values: &Object,
    declared: Option<&Object>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(declared) = declared else {
        let detail = format!("because it is defined in {path}");
        errors.push(FieldError::required(declared_path, detail));
        return;
    };
    let junctors = ["allOf", "anyOf", "oneOf"].into_iter();
    let branches = junctors.flat_map(|junctor| {
        let branches = list(values, junctor).iter().enumerate();
        branches.map(move |(i, branch)| (format!("{path}.{junctor}[{i}]"), branch))
    });
    let not = values.get("not").map(|not| (format!("{path}.not"), not));
    for (path, branch) in not.into_iter().chain(branches) {
        let Value::Object(branch) = branch else {
            continue;
        };
        check_completeness(branch, Some(declared), declared_path, &path, errors);
        if let Some(items) = object(branch, "items") {
            let declared_path = format!("{declared_path}.items");
            let path = format!("{path}.items");
            complete_branch(
                items,
                object(declared, "items"),
                &declared_path,
                &path,
                errors,
            );
        }
        for (name, property) in objects_in(branch, "properties") {
            let own =
                object(declared, "properties").and_then(|properties| object(properties, name));
            let declared_path = format!("{declared_path}.properties[{name}]");
            let path = format!("{path}.properties[{name}]");
            complete_branch(property, own, &declared_path, &path, errors);
        }
    }
}

/// A part of a junctor, which is checked as a junctor of one branch.
fn complete_branch(
    branch: &Object,
    declared: Option<&Object>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    check_completeness(branch, declared, declared_path, path, errors);
    let Some(declared) = declared else {
        return;
    };
    if let Some(items) = object(branch, "items") {
        let (declared_path, path) = (format!("{declared_path}.items"), format!("{path}.items"));
        complete_branch(
            items,
            object(declared, "items"),
            &declared_path,
            &path,
            errors,
        );
    }
    for (name, property) in objects_in(branch, "properties") {
        let own = object(declared, "properties").and_then(|properties| object(properties, name));
        let declared_path = format!("{declared_path}.properties[{name}]");
        let path = format!("{path}.properties[{name}]");
        complete_branch(property, own, &declared_path, &path, errors);
    }
}
