//! The patches that expressions return, and their application to objects.

use outrigger_builtin::defaults;
use outrigger_builtin::kinds::Kind;
use outrigger_cel::{List, Object, Value as Cel};
use outrigger_structural::merge::merge_configuration;
use outrigger_structural::patch::{self, apply_operations};
use outrigger_structural::schema::{self, Schema};
use serde_json::{Value, json};

use super::expression::{Expression, Failure, Scope};

/// A mutation of a policy.
#[derive(Debug)]
pub(super) enum Mutation {
    /// Returns an apply configuration.
    Apply(Expression),
    /// Returns a list of operations.
    JsonPatch(Expression),
}

impl Mutation {
    pub(super) fn patch(
        &self,
        scope: &Scope<'_>,
        object: &Value,
        schema: &Schema,
    ) -> Result<Value, Failure> {
        match self {
            Self::Apply(expression) => apply(&scope.run(expression)?, object, schema),
            Self::JsonPatch(expression) => json_patch(&scope.run(expression)?, object),
        }
    }
}

fn apply(result: &Cel<'_>, object: &Value, schema: &Schema) -> Result<Value, Failure> {
    let Cel::Object(created) = result else {
        let why = "unsupported return type from ApplyConfiguration expression";
        return Err(Failure(why.to_owned()));
    };
    let mut configuration = result
        .to_json()
        .map_err(|why| Failure(format!("invalid return type: {why}")))?;
    check_type_names(created)?;
    configuration["apiVersion"] = object["apiVersion"].clone();
    configuration["kind"] = object["kind"].clone();
    merge_configuration(schema, object, &configuration)
        .map_err(|why| Failure(format!("error applying patch: {why}")))
}

/// An object stays as it is if a `test` operation fails.
fn json_patch(result: &Cel<'_>, object: &Value) -> Result<Value, Failure> {
    let Cel::List(list) = result else {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array";
        return Err(Failure(why.to_owned()));
    };
    let operations = operations(list)?;
    match apply_operations(object.clone(), &operations) {
        Ok(patched) => Ok(patched.unwrap_or_else(|| object.clone())),
        Err(
            patch::Error::Unprocessable(why)
            | patch::Error::BadRequest(why)
            | patch::Error::TooLarge(why)
            | patch::Error::Internal(why),
        ) => Err(Failure(format!("JSON Patch: {why}"))),
    }
}

fn operations(list: &List<'_>) -> Result<Vec<Value>, Failure> {
    let operations = list.iter().map(|item| match item {
        Ok(Cel::Object(operation)) => operation_json(&operation),
        _ => Err(Failure(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
                .to_owned(),
        )),
    });
    operations.collect()
}

fn operation_json(operation: &Object<'_>) -> Result<Value, Failure> {
    let text = |name: &str| match operation.fields.get(name) {
        Some(Cel::String(text)) => text.as_str().to_owned(),
        _ => String::new(),
    };
    let mut json = json!({"op": text("op"), "path": text("path")});
    let from = text("from");
    if !from.is_empty() {
        json["from"] = from.into();
    }
    if let Some(value) = operation.fields.get("value") {
        json["value"] = value.to_json().map_err(|why| {
            Failure(format!(
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
            ))
        })?;
        if let Cel::Object(object) = value {
            check_type_names(object)?;
        }
    }
    Ok(json)
}

/// An object in a field must have the type of that field: `Object{spec: Object.spec{}}`. The object can be converted to
/// JSON, so it is not too large to be visited.
fn check_type_names(object: &Object<'_>) -> Result<(), Failure> {
    let mut errors = Vec::new();
    check_names_in_fields(object, &object.type_, &mut errors);
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("type mismatch: {}", errors.join("\n"))))
}

fn check_names_in_fields(object: &Object<'_>, path: &str, errors: &mut Vec<String>) {
    for (name, value) in &object.fields {
        check_names(value, &format!("{path}.{name}"), errors);
    }
}

/// Lists are checked like their items.
fn check_names(value: &Cel<'_>, path: &str, errors: &mut Vec<String>) {
    const MAX_ERRORS: usize = 10;
    if errors.len() >= MAX_ERRORS {
        return;
    }
    match value {
        Cel::Object(object) => {
            if *object.type_ != *path {
                errors.push(format!(
                    "unexpected type name \"{}\", expected \"{path}\", which matches field name path from root Object type",
                    object.type_
                ));
            }
            check_names_in_fields(object, path, errors);
        }
        Cel::List(list) => {
            for item in list.iter().flatten() {
                check_names(&item, path, errors);
            }
        }
        _ => {}
    }
}

/// Decodes a patched object and sets its defaults.
pub(super) fn decode(kind: &Kind, mut object: Value, schema: &Schema) -> Result<Value, Failure> {
    if kind.custom.is_some() {
        schema::prune_unknown(&mut object, schema.root());
        schema::apply_defaults(&mut object, schema.root());
        return Ok(object);
    }
    match defaults::complete(kind, &mut object) {
        Ok(_) => Ok(object),
        Err(why) => Err(Failure(why.to_string())),
    }
}
