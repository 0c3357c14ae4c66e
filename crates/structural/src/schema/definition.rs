//! Validates the schemas of `CustomResourceDefinitions`.

use outrigger_apimachinery::status::field;
use serde_json::{Map, Value};

use super::field_error;
use super::{MAX_DEPTH, Schema};

mod defaults;
mod lists;
mod rules;
mod structural;

type Object = Map<String, Value>;

/// Validates the schema of one version.
///
/// `path` is the path of the schema in errors. kube-apiserver uses `spec.validation.openAPIV3Schema` if all versions have
/// the same schema, and `spec.versions[0].schema.openAPIV3Schema` otherwise.
pub fn validate_definition(schema: &Value, path: &str, has_status: bool) -> Vec<field::Error> {
    let Value::Object(root) = schema else {
        return vec![field::Error::required(path, "schemas are required")];
    };
    if is_too_deep(schema, 0) {
        return vec![field::Error::forbidden(
            path,
            format!("must not nest deeper than {MAX_DEPTH} levels"),
        )];
    }
    let mut errors = Vec::new();
    if has_status {
        errors.extend(validate_root(root, path));
    }
    if flag(root, "nullable") {
        errors.push(field::Error::forbidden(
            format!("{path}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    // The walk below reports what keeps the schema from being parsed as a structural one.
    let parsed = is_structural_subset(root)
        .then(|| Schema::structural(schema).ok())
        .flatten();
    let mut structural = if is_structural_subset(root) {
        structural::validate(root, path)
    } else {
        Vec::new()
    };
    if let (Some(parsed), true) = (&parsed, structural.is_empty()) {
        structural = defaults::validate(parsed.root(), path);
    }
    let validates_rules = structural.is_empty() && parsed.is_some();
    errors.extend(structural);
    let mut walker = Walker {
        errors: Vec::new(),
        expression_errors: Vec::new(),
        validates_rules,
    };
    walker.schema(root, path, &Context::default(), true);
    errors.extend(walker.errors);
    errors.extend(walker.expression_errors);
    if errors.is_empty() && parsed.is_none() {
        errors.push(field_error::invalid(
            path,
            "",
            "must be a structural schema",
        ));
    }
    errors
}

/// Whether a schema uses only keywords that structural schemas support.
fn is_structural_subset(schema: &Object) -> bool {
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
        && branches
            .chain(parts)
            .chain(properties)
            .all(is_structural_subset)
}

/// Keywords of JSON Schema that `CustomResourceDefinitions` do not support.
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

fn is_too_deep(value: &Value, depth: usize) -> bool {
    // One level of a schema is two levels of JSON.
    depth > 2 * MAX_DEPTH
        || match value {
            Value::Object(fields) => fields.values().any(|value| is_too_deep(value, depth + 1)),
            Value::Array(items) => items.iter().any(|value| is_too_deep(value, depth + 1)),
            _ => false,
        }
}

/// With a status subresource, the status is validated by itself, so that other keywords at the root would not apply.
fn validate_root(root: &Object, path: &str) -> Option<field::Error> {
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
        return Some(field_error::invalid(format!("{path}.type"), type_, detail));
    }
    let is_allowed = |name: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == name);
    let forbidden = root
        .iter()
        .find(|(name, value)| !is_allowed(name) && !is_empty(value));
    forbidden.map(|_| {
        let allowed: Vec<_> = ALLOWED.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            allowed.join(" ")
        );
        field_error::invalid(path, Value::Object(root.clone()), detail)
    })
}

/// Whether Go considers the field unset.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(_) | Value::Object(_) => false,
    }
}

/// What the ancestors of a schema imply for it.
#[derive(Debug, Clone, Default)]
struct Context {
    /// Why defaults are forbidden.
    forbidden_defaults: Option<String>,
    is_metadata: bool,
    /// The outermost list whose items cannot be correlated with old ones.
    uncorrelatable: Option<String>,
}

struct Walker {
    errors: Vec<field::Error>,
    expression_errors: Vec<field::Error>,
    validates_rules: bool,
}

impl Walker {
    fn schema(&mut self, schema: &Object, path: &str, ctx: &Context, is_root: bool) {
        let before = self.errors.len();
        self.unsupported(schema, path, ctx);
        self.additional(schema, path, ctx);
        for (name, property) in objects_in(schema, "properties") {
            let mut ctx = ctx.clone();
            let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
            if is_meta && (is_root || flag(schema, "x-kubernetes-embedded-resource")) {
                ctx.is_metadata = true;
                if is_root {
                    ctx.forbidden_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.schema(property, &format!("{path}.properties[{name}]"), &ctx, false);
        }
        if let Some(not) = object(schema, "not") {
            self.nested(not, &format!("{path}.not"), ctx);
        }
        for junctor in ["allOf", "oneOf", "anyOf"] {
            for (i, branch) in list(schema, junctor).iter().enumerate() {
                if let Value::Object(branch) = branch {
                    self.nested(branch, &format!("{path}.{junctor}[{i}]"), ctx);
                }
            }
        }
        if let Some(items) = object(schema, "items") {
            let mut ctx = ctx.clone();
            if text(schema, "x-kubernetes-list-type") != "map" {
                ctx.uncorrelatable.get_or_insert_with(|| path.to_owned());
            }
            self.schema(items, &format!("{path}.items"), &ctx, false);
        }
        self.errors.extend(lists::validate(schema, path));
        let is_valid = self.errors.len() == before;
        let (errors, expression_errors) = rules::validate(schema, path, ctx);
        let is_valid = is_valid && errors.is_empty();
        self.errors.extend(errors);
        if is_valid && self.validates_rules {
            self.expression_errors.extend(expression_errors);
        }
    }

    /// Rules inside logical junctors are rejected elsewhere.
    fn nested(&mut self, schema: &Object, path: &str, ctx: &Context) {
        let validates_rules = std::mem::replace(&mut self.validates_rules, false);
        self.schema(schema, path, ctx, false);
        self.validates_rules = validates_rules;
    }

    fn additional(&mut self, schema: &Object, path: &str, ctx: &Context) {
        let field = format!("{path}.additionalProperties");
        let has_properties =
            object(schema, "properties").is_some_and(|properties| !properties.is_empty());
        match schema.get("additionalProperties") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(additional) => {
                if has_properties {
                    let detail = "additionalProperties and properties are mutual exclusive";
                    self.errors
                        .push(field::Error::forbidden(field.as_str(), detail));
                }
                if let Value::Object(additional) = additional {
                    let mut ctx = ctx.clone();
                    if ctx.is_metadata {
                        let reason = "inside additionalProperties applying to object metadata";
                        ctx.forbidden_defaults = Some(reason.to_owned());
                    }
                    self.schema(additional, &field, &ctx, false);
                }
            }
        }
    }

    fn unsupported(&mut self, schema: &Object, path: &str, ctx: &Context) {
        let types = ["array", "boolean", "integer", "number", "object", "string"];
        let type_ = text(schema, "type");
        let mut add = |error| self.errors.push(error);
        let at = |name: &str| format!("{path}.{name}");
        if !type_.is_empty() && !types.contains(&type_) {
            add(field_error::not_supported(at("type"), type_, &types));
        }
        if let (Some(_), Some(reason)) = (schema.get("default"), &ctx.forbidden_defaults) {
            add(field::Error::forbidden(
                at("default"),
                format!("must not be set {reason}"),
            ));
        }
        for name in UNSUPPORTED {
            if schema.get(name).is_some_and(|value| !is_empty(value)) {
                add(field::Error::forbidden(
                    at(name),
                    format!("{name} is not supported"),
                ));
            }
        }
        if type_ == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            add(field::Error::forbidden(at("type"), detail));
        }
        if schema.get("items").is_some_and(Value::is_array) {
            add(field::Error::forbidden(
                at("items"),
                "items must be a schema object and not an array",
            ));
        }
        if ctx.is_metadata && flag(schema, "x-kubernetes-embedded-resource") {
            let detail = "must not be used inside of resource meta";
            add(field::Error::forbidden(
                at("x-kubernetes-embedded-resource"),
                detail,
            ));
        }
        if flag(schema, "uniqueItems") {
            let detail =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            add(field::Error::forbidden(at("uniqueItems"), detail));
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let field = at("x-kubernetes-preserve-unknown-fields");
            add(field_error::invalid(
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

/// The members of an object that are objects themselves.
fn objects_in<'s>(schema: &'s Object, name: &str) -> impl Iterator<Item = (&'s str, &'s Object)> {
    let members = object(schema, name).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.as_str(), value.as_object()?)))
}
