//! Validation of `MutatingAdmissionPolicy`.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::expression::{Compiler, Purpose};
use super::policy::{
    SPEC, keeps_match_conditions, validate_expression, validate_match_conditions,
    validate_matching, validate_variables,
};
use super::rules::validate_mutating_operations;
use crate::fields::{list, text};
use crate::validation::field_checks::{require, validate_enum};

pub(super) const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
const PATCH_TYPES: &[&str] = &["ApplyConfiguration", "JSONPatch"];

pub(super) fn validate(object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let mut compiler = Compiler::mutating(spec);
    validate_matching(errors, spec);
    let field = SPEC.child("matchConstraints");
    validate_mutating_operations(errors, &field, &spec["matchConstraints"]);
    if !keeps_match_conditions(spec, old) {
        let field = SPEC.child("matchConditions");
        let conditions = list(spec, "matchConditions");
        validate_match_conditions(errors, &field, conditions, &compiler);
    }
    validate_variables(errors, spec, &mut compiler);
    validate_mutations(spec, &compiler, errors);
    let field = SPEC.child("reinvocationPolicy");
    let policy = text(spec, "reinvocationPolicy");
    if require(errors, &field, policy) {
        validate_enum(errors, &field, policy, REINVOCATION_POLICIES);
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
            validate_enum(errors, &field, type_, PATCH_TYPES);
            return;
        }
    };
    let field = path.child(own);
    if mutation[own].is_null() {
        let detail = format!("must be specified when patchType is {type_}");
        errors.push(Error::required(&field, detail));
    } else {
        let source = text(&mutation[own], "expression").trim();
        validate_expression(errors, &field.child("expression"), source, "", |source| {
            compiler.compile(source, purpose).map(drop)
        });
    }
    if !mutation[other].is_null() {
        let detail = format!("must not be specified when patchType is {type_}");
        let value = format!("{{{other}}}");
        errors.push(Error::invalid(&path.child(other), value.as_str(), detail));
    }
}
