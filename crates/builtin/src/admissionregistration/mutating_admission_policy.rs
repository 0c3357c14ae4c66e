//! Validation of `MutatingAdmissionPolicy` and its binding.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::expression::{self, Expected};
use crate::fields::{list, text, texts};
use crate::validation::field_checks::{push_invalid, require, validate_enum};

const SPEC: Path<'static> = Path::root("spec");
/// There is nothing to mutate in a deletion.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let has_params = spec["paramKind"].is_object();
    let field = SPEC.child("failurePolicy");
    validate_enum(
        errors,
        &field,
        text(spec, "failurePolicy"),
        &["Fail", "Ignore"],
    );
    validate_constraints(spec, errors);
    for (index, condition) in list(spec, "matchConditions").iter().enumerate() {
        let path = SPEC.child("matchConditions");
        let path = path.index(index);
        let is_used = validate_expression(errors, &path, condition, has_params, Expected::Bool);
        if !is_used {
            errors.push(Error::required(&path.child("expression"), ""));
        }
        require(errors, &path.child("name"), text(condition, "name"));
    }
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = SPEC.child("variables");
        let path = path.index(index);
        if !validate_expression(errors, &path, variable, has_params, Expected::Any) {
            let detail = "expression is not specified";
            errors.push(Error::required(&path.child("expression"), detail));
        }
    }
    validate_mutations(spec, has_params, errors);
    let field = SPEC.child("reinvocationPolicy");
    let policy = text(spec, "reinvocationPolicy");
    if require(errors, &field, policy) {
        validate_enum(errors, &field, policy, &["IfNeeded", "Never"]);
    }
}

fn validate_constraints(spec: &Value, errors: &mut Vec<Error>) {
    let constraints = &spec["matchConstraints"];
    let path = SPEC.child("matchConstraints");
    if constraints.is_null() {
        errors.push(Error::required(&path, ""));
        return;
    }
    let field = path.child("resourceRules");
    validate_rules(&field, constraints, errors);
    if list(constraints, "resourceRules").is_empty() {
        errors.push(Error::required(&field, ""));
    }
    validate_operations(&field, constraints, errors);
}

fn validate_rules(path: &Path<'_>, resources: &Value, errors: &mut Vec<Error>) {
    for (index, rule) in list(resources, "resourceRules").iter().enumerate() {
        let field = path.index(index);
        for key in ["operations", "apiGroups", "apiVersions", "resources"] {
            if list(rule, key).is_empty() {
                errors.push(Error::required(&field.child(key), ""));
            }
        }
    }
}

fn validate_operations(path: &Path<'_>, resources: &Value, errors: &mut Vec<Error>) {
    let field = path.child("operations");
    for rule in list(resources, "resourceRules") {
        for operation in texts(list(rule, "operations")) {
            validate_enum(errors, &field, operation, &OPERATIONS);
        }
    }
}

/// Validates the expression of an item. Returns false if there is none.
fn validate_expression(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    item: &Value,
    has_params: bool,
    expected: Expected,
) -> bool {
    let source = text(item, "expression").trim();
    if source.is_empty() {
        return false;
    }
    if let Err(why) = expression::check(source, has_params, expected) {
        errors.push(Error::invalid(&path.child("expression"), source, why));
    }
    true
}

fn validate_mutations(spec: &Value, has_params: bool, errors: &mut Vec<Error>) {
    let path = SPEC.child("mutations");
    let mutations = list(spec, "mutations");
    if mutations.is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(Error::required(&path, detail));
    }
    for (index, mutation) in mutations.iter().enumerate() {
        validate_mutation(errors, &path.index(index), mutation, has_params);
    }
}

fn validate_mutation(errors: &mut Vec<Error>, path: &Path<'_>, mutation: &Value, has_params: bool) {
    let type_ = text(mutation, "patchType");
    let field = path.child("patchType");
    if !require(errors, &field, type_) {
        return;
    }
    let (own, other, expected) = match type_ {
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Expected::JsonPatch),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Expected::Object),
        _ => {
            validate_enum(errors, &field, type_, &["ApplyConfiguration", "JSONPatch"]);
            return;
        }
    };
    let field = path.child(own);
    if mutation[own].is_null() {
        let detail = format!("must be specified when patchType is {type_}");
        errors.push(Error::required(&field, detail));
    } else if !validate_expression(errors, &field, &mutation[own], has_params, expected) {
        errors.push(Error::required(&field.child("expression"), ""));
    }
    if !mutation[other].is_null() {
        let detail = format!("must not be specified when patchType is {type_}");
        let value = format!("{{{other}}}");
        errors.push(Error::invalid(&path.child(other), value.as_str(), detail));
    }
}

pub(crate) fn validate_binding(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let field = SPEC.child("policyName");
    let name = text(spec, "policyName");
    if require(errors, &field, name) {
        push_invalid(errors, &field, name, syntax::dns1123_subdomain(name));
    }
    let resources = &spec["matchResources"];
    let path = SPEC.child("matchResources");
    let path = path.child("resourceRules");
    validate_rules(&path, resources, errors);
    validate_operations(&path, resources, errors);
}
