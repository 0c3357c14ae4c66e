//! Validation of `MutatingAdmissionPolicy` and its binding.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::expression::{Compiler, Purpose};
use super::validating_admission_policy::check;
use crate::fields::{list, text, texts};
use crate::validation::field_checks::{push_invalid, require, validate_enum};

const SPEC: Path<'static> = Path::root("spec");
/// There is nothing to mutate in a deletion.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let mut compiler = Compiler::mutating(spec);
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
        let source = text(condition, "expression").trim();
        check(errors, &path.child("expression"), source, "", |source| {
            compiler.compile(source, Purpose::Condition).map(drop)
        });
        require(errors, &path.child("name"), text(condition, "name"));
    }
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = SPEC.child("variables");
        let path = path.index(index);
        let (name, source) = (text(variable, "name"), text(variable, "expression"));
        let missing = "expression is not specified";
        check(
            errors,
            &path.child("expression"),
            source,
            missing,
            |source| compiler.variable(name, source).map(drop),
        );
    }
    validate_mutations(spec, &compiler, errors);
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

fn validate_mutations(spec: &Value, compiler: &Compiler, errors: &mut Vec<Error>) {
    let path = SPEC.child("mutations");
    let mutations = list(spec, "mutations");
    if mutations.is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(Error::required(&path, detail));
    }
    for (index, mutation) in mutations.iter().enumerate() {
        validate_mutation(errors, &path.index(index), mutation, compiler);
    }
}

fn validate_mutation(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    mutation: &Value,
    compiler: &Compiler,
) {
    let type_ = text(mutation, "patchType");
    let field = path.child("patchType");
    if !require(errors, &field, type_) {
        return;
    }
    let (own, other, purpose) = match type_ {
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Purpose::JsonPatch),
        "ApplyConfiguration" => (
            "applyConfiguration",
            "jsonPatch",
            Purpose::ApplyConfiguration,
        ),
        _ => {
            validate_enum(errors, &field, type_, &["ApplyConfiguration", "JSONPatch"]);
            return;
        }
    };
    let field = path.child(own);
    if mutation[own].is_null() {
        let detail = format!("must be specified when patchType is {type_}");
        errors.push(Error::required(&field, detail));
    } else {
        let source = text(&mutation[own], "expression").trim();
        check(errors, &field.child("expression"), source, "", |source| {
            compiler.compile(source, purpose).map(drop)
        });
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
