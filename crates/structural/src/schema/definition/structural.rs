//! The rules of structural schemas: every field has a type, and logical junctors only constrain values.

use outrigger_apimachinery::status::field;
use outrigger_cel::{RegexError, regex_program};
use outrigger_gostd::regexp::{self, CachedRegexp};
use serde_json::Value;

use super::{Object, flag, list, object, objects_in, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn validate(root: &Object, path: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    validate_schema(root, Level::Root, path, &mut errors);
    validate_completeness(root, Some(root), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn validate_schema(schema: &Object, level: Level, path: &str, errors: &mut Vec<field::Error>) {
    let at = |name: &str| format!("{path}.{name}");
    let type_ = text(schema, "type");
    let items = object(schema, "items");
    if type_ == "array" && items.is_none() {
        errors.push(field::Error::required(at("items"), "must be specified"));
    }
    if let Some(items) = items {
        validate_schema(items, Level::Item, &at("items"), errors);
    }
    for (name, property) in objects_in(schema, "properties") {
        validate_schema(
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
            errors.push(field::Error::forbidden(
                at("additionalProperties"),
                "must not be used at the root",
            ));
        }
        if let Value::Object(additional) = additional {
            validate_schema(
                additional,
                Level::Field,
                &at("additionalProperties"),
                errors,
            );
        }
    }
    validate_junctors(
        schema,
        is_int_or_string_pair(list(schema, "anyOf")),
        starts_with_int_or_string_pair(schema),
        path,
        errors,
    );
    validate_extensions(schema, level, path, errors);
    validate_metadata(schema, level, path, errors);
}

fn validate_extensions(schema: &Object, level: Level, path: &str, errors: &mut Vec<field::Error>) {
    let at = |name: &str| format!("{path}.{name}");
    let type_ = text(schema, "type");
    let preserves_unknown_fields = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let is_embedded = flag(schema, "x-kubernetes-embedded-resource");
    let is_int_or_string = flag(schema, "x-kubernetes-int-or-string");
    for (is_set, name) in [
        (
            preserves_unknown_fields,
            "x-kubernetes-preserve-unknown-fields",
        ),
        (is_embedded, "x-kubernetes-embedded-resource"),
    ] {
        if is_int_or_string && is_set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(field::Error::invalid(at(name), true, detail));
        }
    }
    if is_embedded && type_ != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match type_ {
            "" => field::Error::required(at("type"), detail),
            type_ => field::Error::invalid(at("type"), type_, detail),
        });
    } else if type_.is_empty() && !is_int_or_string && !preserves_unknown_fields {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(field::Error::required(at("type"), detail));
    }
    if is_embedded
        && schema
            .get("additionalProperties")
            .is_some_and(|value| !value.is_null())
    {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(field::Error::forbidden(at("additionalProperties"), detail));
    }
    if level == Level::Root && !type_.is_empty() && type_ != "object" {
        errors.push(field::Error::invalid(
            at("type"),
            type_,
            "must be object at the root",
        ));
    }
    let has_properties =
        object(schema, "properties").is_some_and(|properties| !properties.is_empty());
    if is_embedded && !preserves_unknown_fields && !has_properties {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(field::Error::required(at("properties"), detail));
    }
}

/// `ObjectMeta` is implicit; a schema may only constrain the names.
fn validate_metadata(schema: &Object, level: Level, path: &str, errors: &mut Vec<field::Error>) {
    let is_resource = level == Level::Root || flag(schema, "x-kubernetes-embedded-resource");
    for (name, property) in objects_in(schema, "properties") {
        let field = format!("{path}.properties[{name}]");
        let type_ = text(property, "type");
        match name {
            "kind" | "apiVersion" if is_resource && type_ != "string" => {
                errors.push(field::Error::invalid(
                    format!("{field}.type"),
                    type_,
                    "must be string",
                ));
            }
            "metadata" => {
                if is_resource && type_ != "object" {
                    errors.push(field::Error::invalid(
                        format!("{field}.type"),
                        type_,
                        "must be object",
                    ));
                }
                if level == Level::Root && !constrains_names_only(property) {
                    let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
                    errors.push(field::Error::forbidden(field, detail));
                }
            }
            _ => {}
        }
    }
}

fn constrains_names_only(metadata: &Object) -> bool {
    let names = object(metadata, "properties");
    let is_name = |name: &String| name == "name" || name == "generateName";
    names.is_none_or(|names| names.keys().all(is_name))
        && metadata.iter().all(|(name, value)| {
            matches!(name.as_str(), "type" | "properties" | "default") || super::is_empty(value)
        })
}

/// `anyOf: [{type: integer}, {type: string}]`, the only junctor that may have types.
fn is_int_or_string_pair(any_of: &[Value]) -> bool {
    let is_type = |value: &Value, type_: &str| {
        value
            .as_object()
            .is_some_and(|branch| branch.len() == 1 && text(branch, "type") == type_)
    };
    matches!(any_of, [a, b] if is_type(a, "integer") && is_type(b, "string"))
}

fn starts_with_int_or_string_pair(schema: &Object) -> bool {
    let first = list(schema, "allOf").first().and_then(Value::as_object);
    first.is_some_and(|first| is_int_or_string_pair(list(first, "anyOf")))
}

fn validate_junctors(
    schema: &Object,
    skip_any_of: bool,
    skip_first: bool,
    path: &str,
    errors: &mut Vec<field::Error>,
) {
    let junctors = ["anyOf", "allOf", "oneOf"];
    for junctor in junctors
        .into_iter()
        .filter(|junctor| !(skip_any_of && *junctor == "anyOf"))
    {
        for (i, branch) in list(schema, junctor).iter().enumerate() {
            if let Value::Object(branch) = branch {
                let skip = skip_first && junctor == "allOf" && i == 0;
                validate_branch(branch, skip, &format!("{path}.{junctor}[{i}]"), errors);
            }
        }
    }
    if let Some(not) = object(schema, "not") {
        validate_branch(not, false, &format!("{path}.not"), errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(error) = regex_program(&CachedRegexp::new(pattern))
    {
        let detail = match error {
            RegexError::Invalid(error @ regexp::Error::TooLarge { .. }) => error.to_string(),
            error => format!("must be a valid regular expression, but isn't: {error}"),
        };
        errors.push(field::Error::invalid(
            format!("{path}.pattern"),
            pattern,
            detail,
        ));
    }
}

/// Keywords that are forbidden in logical junctors.
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

fn validate_branch(branch: &Object, skip_any_of: bool, path: &str, errors: &mut Vec<field::Error>) {
    validate_junctors(branch, skip_any_of, false, path, errors);
    if let Some(items) = object(branch, "items") {
        validate_branch(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in objects_in(branch, "properties") {
        let path = format!("{path}.properties[{name}]");
        validate_branch(property, false, &path, errors);
        if name == "metadata" {
            errors.push(field::Error::forbidden(
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
            errors.push(field::Error::forbidden(format!("{path}.{name}"), detail));
        }
    }
    for name in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if branch.get(name).is_some_and(|value| !value.is_null()) {
            let detail = "must be undefined to be structural";
            errors.push(field::Error::forbidden(format!("{path}.{name}"), detail));
        }
    }
}

/// Fields of logical junctors must be declared outside of the junctors too.
fn validate_completeness(
    values: &Object,
    declared: Option<&Object>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<field::Error>,
) {
    let Some(declared) = declared else {
        let detail = format!("because it is defined in {path}");
        errors.push(field::Error::required(declared_path, detail));
        return;
    };
    let junctors = ["allOf", "anyOf", "oneOf"].into_iter();
    let branches = junctors.flat_map(|junctor| {
        let branches = list(values, junctor).iter().enumerate();
        branches.map(move |(i, branch)| (format!("{path}.{junctor}[{i}]"), branch))
    });
    let not = values.get("not").map(|not| (format!("{path}.not"), not));
    for (path, branch) in not.into_iter().chain(branches) {
        if let Value::Object(branch) = branch {
            validate_branch_completeness(branch, Some(declared), declared_path, &path, errors);
        }
    }
}

/// Validates a branch of a junctor, or the schema of a field inside a branch.
fn validate_branch_completeness(
    branch: &Object,
    declared: Option<&Object>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<field::Error>,
) {
    validate_completeness(branch, declared, declared_path, path, errors);
    let Some(declared) = declared else {
        return;
    };
    if let Some(items) = object(branch, "items") {
        let (declared_path, path) = (format!("{declared_path}.items"), format!("{path}.items"));
        let declared = object(declared, "items");
        validate_branch_completeness(items, declared, &declared_path, &path, errors);
    }
    for (name, property) in objects_in(branch, "properties") {
        let declared =
            object(declared, "properties").and_then(|properties| object(properties, name));
        let declared_path = format!("{declared_path}.properties[{name}]");
        let path = format!("{path}.properties[{name}]");
        validate_branch_completeness(property, declared, &declared_path, &path, errors);
    }
}
