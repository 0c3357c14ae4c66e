//! Validates the schemas of `CustomResourceDefinitions`.

use outrigger_apimachinery::status::field;
use serde_json::{Map, Value};

use super::{MAX_DEPTH, Schema, SchemaRef};
use costs::Costs;

mod costs;
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
    let compiled = parsed.as_ref().filter(|_| structural.is_empty());
    errors.extend(structural);
    let mut walker = Walker::default();
    let ctx = Context {
        max_cardinality: Some(1),
        ..Context::default()
    };
    walker.schema(root, compiled.map(Schema::root), path, &ctx, true);
    errors.extend(walker.errors);
    errors.extend(walker.expression_errors);
    errors.extend(walker.costs.finish(path));
    if errors.is_empty() && parsed.is_none() {
        errors.push(field::Error::invalid(
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
        return Some(field::Error::invalid(format!("{path}.type"), type_, detail));
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
        field::Error::invalid(path, Value::Object(root.clone()), detail)
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
    /// How often the schema can occur in an object at most; `None` if an ancestor is not bounded.
    max_cardinality: Option<u64>,
}

impl Context {
    /// The context of the schemas inside of a schema.
    fn inside(&self, schema: &Object) -> Self {
        let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
        let max_elements = match text(schema, "type") {
            "object" if schema.contains_key("additionalProperties") => bound("maxProperties"),
            "array" => bound("maxItems"),
            _ => Some(1),
        };
        let max_elements = max_elements.map(|max| u64::try_from(max).unwrap_or(0));
        let parent = self.max_cardinality;
        Self {
            max_cardinality: parent.and_then(|parent| Some(parent.saturating_mul(max_elements?))),
            ..self.clone()
        }
    }
}

#[derive(Default)]
struct Walker {
    errors: Vec<field::Error>,
    expression_errors: Vec<field::Error>,
    costs: Costs,
}

impl Walker {
    /// Validates a schema. `compiled` is the same schema with its rules, unless there is none because of other errors.
    fn schema(
        &mut self,
        schema: &Object,
        compiled: Option<SchemaRef<'_>>,
        path: &str,
        ctx: &Context,
        is_root: bool,
    ) {
        let before = self.errors.len();
        self.unsupported(schema, path, ctx);
        let inner = ctx.inside(schema);
        self.additional(schema, compiled, path, &inner);
        for (name, property) in objects_in(schema, "properties") {
            let mut ctx = inner.clone();
            let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
            if is_meta && (is_root || flag(schema, "x-kubernetes-embedded-resource")) {
                ctx.is_metadata = true;
                if is_root {
                    ctx.forbidden_defaults = Some(format!("in top-level {name}"));
                }
            }
            let compiled = compiled.and_then(|compiled| compiled.property(name));
            let path = format!("{path}.properties[{name}]");
            self.schema(property, compiled, &path, &ctx, false);
        }
        // Rules inside logical junctors are rejected elsewhere.
        if let Some(not) = object(schema, "not") {
            self.schema(not, None, &format!("{path}.not"), ctx, false);
        }
        for junctor in ["allOf", "oneOf", "anyOf"] {
            for (i, branch) in list(schema, junctor).iter().enumerate() {
                if let Value::Object(branch) = branch {
                    let path = format!("{path}.{junctor}[{i}]");
                    self.schema(branch, None, &path, ctx, false);
                }
            }
        }
        if let Some(items) = object(schema, "items") {
            let mut ctx = inner;
            if text(schema, "x-kubernetes-list-type") != "map" {
                ctx.uncorrelatable.get_or_insert_with(|| path.to_owned());
            }
            let compiled = compiled.and_then(SchemaRef::items);
            self.schema(items, compiled, &format!("{path}.items"), &ctx, false);
        }
        self.errors.extend(lists::validate(schema, path));
        self.errors.extend(rules::validate(schema, path));
        if let Some(compiled) = compiled.filter(|_| self.errors.len() == before) {
            let errors = rules::validate_expressions(schema, compiled, path, ctx, &mut self.costs);
            self.expression_errors.extend(errors);
        }
    }

    fn additional(
        &mut self,
        schema: &Object,
        compiled: Option<SchemaRef<'_>>,
        path: &str,
        ctx: &Context,
    ) {
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
                    let compiled = compiled.and_then(SchemaRef::additional);
                    self.schema(additional, compiled, &field, &ctx, false);
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
            add(field::Error::not_supported(at("type"), type_, &types));
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
            add(field::Error::invalid(
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
