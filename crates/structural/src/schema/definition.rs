//! The rules for schemas in custom resource definitions. A definition that breaks one is refused.

use serde_json::{Map, Value};

use super::field_error::{FieldError, Reason};
use super::{MAX_DEPTH, Schema};

mod defaults;
mod lists;
mod rules;
mod structural;

type Object = Map<String, Value>;

/// Checks the schema of one version.
///
/// The path is where errors say the schema is. A real server says `spec.validation.openAPIV3Schema` if all versions
/// have the same schema, and `spec.versions[0].schema.openAPIV3Schema` otherwise.
pub fn check_definition(schema: &Value, path: &str, has_status: bool) -> Vec<FieldError> {
    let Value::Object(root) = schema else {
        return vec![FieldError::required(path, "schemas are required")];
    };
    if is_too_deep(schema, 0) {
        return vec![FieldError::forbidden(
            path,
            format!("must not nest deeper than {MAX_DEPTH} levels"),
        )];
    }
    let mut errors = Vec::new();
    if has_status {
        errors.extend(check_root(root, path));
    }
    if flag(root, "nullable") {
        errors.push(FieldError::forbidden(
            format!("{path}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    // Whatever cannot be read as a structural schema at all is told by the walk below.
    let parsed = is_readable(root)
        .then(|| Schema::structural(schema).ok())
        .flatten();
    let mut structural = if is_readable(root) {
        structural::check(root, path)
    } else {
        Vec::new()
    };
    if let (Some(parsed), true) = (&parsed, structural.is_empty()) {
        structural = defaults::check(parsed.root(), path);
    }
    let rules_run = structural.is_empty() && parsed.is_some();
    errors.extend(structural);
    let mut walker = Walker {
        errors: Vec::new(),
        rule_errors: Vec::new(),
        checks_rules: rules_run,
    };
    walker.schema(root, path, &Place::default(), true);
    errors.extend(walker.errors);
    errors.extend(walker.rule_errors);
    if errors.is_empty() && parsed.is_none() {
        errors.push(FieldError::invalid(path, "", "must be a structural schema"));
    }
    errors
}

/// Whether a schema uses only what structural schemas can have.
fn is_readable(schema: &Object) -> bool {
    let is_unsupported = |name: &str| schema.get(name).is_some_and(|value| !is_empty(value));
    let branches = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|junctor| list(schema, junctor));
    let branches = branches.filter_map(Value::as_object);
    let parts = ["items", "not", "additionalProperties"]
        .into_iter()
        .filter_map(|name| object(schema, name));
    let properties = objects_in(schema, "properties").map(|(_, property)| property);
    !UNSUPPORTED.into_iter().any(is_unsupported)
        && !is_unsupported("$schema")
        && !schema.get("items").is_some_and(Value::is_array)
        && schema.get("x-kubernetes-preserve-unknown-fields") != Some(&Value::Bool(false))
        && branches.chain(parts).chain(properties).all(is_readable)
}

/// What JSON schema has and custom resource definitions do not.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

fn is_too_deep(value: &Value, depth: usize) -> bool {
    // Each level of a schema is two levels of JSON.
    depth > 2 * MAX_DEPTH
        || match value {
            Value::Object(fields) => fields.values().any(|value| is_too_deep(value, depth + 1)),
            Value::Array(items) => items.iter().any(|value| is_too_deep(value, depth + 1)),
            _ => false,
        }
}

/// The status is validated apart, so whatever else the root says would be lost for it.
fn check_root(root: &Object, path: &str) -> Option<FieldError> {
    const ALLOWED: [(&str, &str); 22] = [
        ("description", "Description"),
        ("type", "Type"),
        ("format", "Format"),
        ("title", "Title"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("maxLength", "MaxLength"),
        ("minLength", "MinLength"),
        ("pattern", "Pattern"),
        ("maxItems", "MaxItems"),
        ("minItems", "MinItems"),
        ("uniqueItems", "UniqueItems"),
        ("multipleOf", "MultipleOf"),
        ("required", "Required"),
        ("items", "Items"),
        ("properties", "Properties"),
        ("externalDocs", "ExternalDocs"),
        ("example", "Example"),
        (
            "x-kubernetes-preserve-unknown-fields",
            "XPreserveUnknownFields",
        ),
        ("x-kubernetes-validations", "XValidations"),
    ];
    let type_ = text(root, "type");
    if !type_.is_empty() && type_ != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(format!("{path}.type"), type_, detail));
    }
    let is_allowed = |name: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == name);
    let stranger = root
        .iter()
        .find(|(name, value)| !is_allowed(name) && !is_empty(value));
    stranger.map(|_| {
        let allowed: Vec<_> = ALLOWED.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            allowed.join(" ")
        );
        FieldError::new(Reason::Invalid, path, Some(Value::Object(root.clone())), detail)
    })
}

/// Whether Go would say that a field is not set.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(_) | Value::Object(_) => false,
    }
}

/// Where in the whole a schema stands.
#[derive(Debug, Clone, Default)]
struct Place {
    /// Why defaults are not allowed.
    no_defaults: Option<String>,
    is_metadata: bool,
    /// The list or map above which makes old values impossible to find.
    uncorrelated: Option<String>,
}

struct Walker {
    errors: Vec<FieldError>,
    rule_errors: Vec<FieldError>,
    checks_rules: bool,
}

impl Walker {
    fn schema(&mut self, schema: &Object, path: &str, place: &Place, is_root: bool) {
        let before = self.errors.len();
        self.unsupported(schema, path, place);
        self.additional(schema, path, place);
        for (name, property) in objects_in(schema, "properties") {
            let mut place = place.clone();
            let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
            if is_meta && (is_root || flag(schema, "x-kubernetes-embedded-resource")) {
                place.is_metadata = true;
                if is_root {
                    place.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.schema(
                property,
                &format!("{path}.properties[{name}]"),
                &place,
                false,
            );
        }
        if let Some(not) = object(schema, "not") {
            self.nested(not, &format!("{path}.not"), place);
        }
        for junctor in ["allOf", "oneOf", "anyOf"] {
            for (i, branch) in list(schema, junctor).iter().enumerate() {
                if let Value::Object(branch) = branch {
                    self.nested(branch, &format!("{path}.{junctor}[{i}]"), place);
                }
            }
        }
        if let Some(items) = object(schema, "items") {
            let mut place = place.clone();
            if text(schema, "x-kubernetes-list-type") != "map" {
                place.uncorrelated.get_or_insert_with(|| path.to_owned());
            }
            self.schema(items, &format!("{path}.items"), &place, false);
        }
        self.errors.extend(lists::check(schema, path));
        let is_clean = self.errors.len() == before;
        let (errors, rule_errors) = rules::check(schema, path, place);
        let is_clean = is_clean && errors.is_empty();
        self.errors.extend(errors);
        if is_clean && self.checks_rules {
            self.rule_errors.extend(rule_errors);
        }
    }

    /// Rules inside junctors are refused elsewhere.
    fn nested(&mut self, schema: &Object, path: &str, place: &Place) {
        let checks_rules = std::mem::replace(&mut self.checks_rules, false);
        self.schema(schema, path, place, false);
        self.checks_rules = checks_rules;
    }

    fn additional(&mut self, schema: &Object, path: &str, place: &Place) {
        let field = format!("{path}.additionalProperties");
        let has_properties =
            object(schema, "properties").is_some_and(|properties| !properties.is_empty());
        match schema.get("additionalProperties") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(additional) => {
                if has_properties {
                    let detail = "additionalProperties and properties are mutual exclusive";
                    self.errors
                        .push(FieldError::forbidden(field.as_str(), detail));
                }
                if let Value::Object(additional) = additional {
                    let mut place = place.clone();
                    if place.is_metadata {
                        let reason = "inside additionalProperties applying to object metadata";
                        place.no_defaults = Some(reason.to_owned());
                    }
                    self.schema(additional, &field, &place, false);
                }
            }
        }
    }

    fn unsupported(&mut self, schema: &Object, path: &str, place: &Place) {
        let types = ["array", "boolean", "integer", "number", "object", "string"];
        let type_ = text(schema, "type");
        let mut add = |error| self.errors.push(error);
        let at = |name: &str| format!("{path}.{name}");
        if !type_.is_empty() && !types.contains(&type_) {
            add(FieldError::not_supported(
                at("type"),
                type_,
                &types.map(str::to_owned),
            ));
        }
        if let (Some(_), Some(reason)) = (schema.get("default"), &place.no_defaults) {
            add(FieldError::forbidden(
                at("default"),
                format!("must not be set {reason}"),
            ));
        }
        for name in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            if schema.get(name).is_some_and(|value| !is_empty(value)) {
                add(FieldError::forbidden(
                    at(name),
                    format!("{name} is not supported"),
                ));
            }
        }
        if type_ == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            add(FieldError::forbidden(at("type"), detail));
        }
        if schema.get("items").is_some_and(Value::is_array) {
            add(FieldError::forbidden(
                at("items"),
                "items must be a schema object and not an array",
            ));
        }
        if place.is_metadata && flag(schema, "x-kubernetes-embedded-resource") {
            let detail = "must not be used inside of resource meta";
            add(FieldError::forbidden(
                at("x-kubernetes-embedded-resource"),
                detail,
            ));
        }
        if flag(schema, "uniqueItems") {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            add(FieldError::forbidden(at("uniqueItems"), detail));
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let field = at("x-kubernetes-preserve-unknown-fields");
            add(FieldError::invalid(
                field,
                false,
                "must be true or undefined",
            ));
        }
    }
}

fn flag(schema: &Object, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn text<'s>(schema: &'s Object, name: &str) -> &'s str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn object<'s>(schema: &'s Object, name: &str) -> Option<&'s Object> {
    schema.get(name).and_then(Value::as_object)
}

fn list<'s>(schema: &'s Object, name: &str) -> &'s [Value] {
    schema
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The members of an object that are objects.
fn objects_in<'s>(schema: &'s Object, name: &str) -> impl Iterator<Item = (&'s str, &'s Object)> {
    let members = object(schema, name).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.as_str(), value.as_object()?)))
}
