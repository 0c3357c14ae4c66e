//! Validation of what validating and mutating admission policies have in common.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::expression::{Compiler, Purpose};
use super::rules::{validate_failure_policy, validate_match_resources};
use crate::fields::{list, text};
use crate::validation::field_checks::{push_invalid, require};

pub(super) const SPEC: Path<'static> = Path::root("spec");
pub(super) const NOT_SPECIFIED: &str = "expression is not specified";
const MAX_MATCH_CONDITIONS: usize = 64;

/// Validates the fields before `matchConditions`.
pub(super) fn validate_matching(errors: &mut Vec<Error>, spec: &Value) {
    validate_failure_policy(errors, &SPEC, spec);
    if spec["paramKind"].is_object() {
        validate_param_kind(errors, &SPEC.child("paramKind"), &spec["paramKind"]);
    }
    let constraints = &spec["matchConstraints"];
    let field = SPEC.child("matchConstraints");
    if constraints.is_null() {
        errors.push(Error::required(&field, ""));
        return;
    }
    validate_match_resources(errors, &field, constraints);
    if list(constraints, "resourceRules").is_empty() {
        errors.push(Error::required(&field.child("resourceRules"), ""));
    }
}

/// Whether an update of a policy cannot make match conditions invalid that were valid before.
pub(super) fn keeps_match_conditions(spec: &Value, old: Option<&Value>) -> bool {
    old.is_some_and(|old| {
        ["paramKind", "matchConditions"]
            .iter()
            .all(|key| old["spec"][*key] == spec[*key])
    })
}

fn validate_param_kind(errors: &mut Vec<Error>, path: &Path<'_>, kind: &Value) {
    let field = path.child("apiVersion");
    let api_version = text(kind, "apiVersion");
    if require(errors, &field, api_version) {
        validate_param_version(errors, &field, api_version);
    }
    let field = path.child("kind");
    let name = text(kind, "kind");
    if require(errors, &field, name) {
        let messages = syntax::dns1035_label(&name.to_lowercase());
        if !messages.is_empty() {
            let rule = messages.join(",");
            let detail = format!("may have mixed case, but should otherwise match: {rule}");
            errors.push(Error::invalid(&field, name, detail));
        }
    }
}

fn validate_param_version(errors: &mut Vec<Error>, path: &Path<'_>, api_version: &str) {
    let (group, version) = match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => {
            let detail = format!("unexpected GroupVersion string: {api_version}");
            errors.push(Error::invalid(path, api_version, detail));
            return;
        }
        Some(parts) => parts,
    };
    let mut push = |value: &str, messages: Vec<String>| {
        if !messages.is_empty() {
            errors.push(Error::invalid(path, value, messages.join(",")));
        }
    };
    if !group.is_empty() {
        push(group, syntax::dns1123_subdomain(group));
    }
    if version.is_empty() {
        push(api_version, vec!["version must be specified".to_owned()]);
    } else {
        push(version, syntax::dns1035_label(version));
    }
}

/// Validates the match conditions of a policy or a webhook.
pub(super) fn validate_match_conditions(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    conditions: &[Value],
    compiler: &Compiler,
) {
    if conditions.len() > MAX_MATCH_CONDITIONS {
        errors.push(Error::too_many(
            path,
            conditions.len(),
            MAX_MATCH_CONDITIONS,
        ));
    }
    let mut names = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let source = text(condition, "expression").trim();
        validate_expression(errors, &path.child("expression"), source, "", |source| {
            compiler.compile(source, Purpose::Condition).map(drop)
        });
        let field = path.child("name");
        let name = text(condition, "name");
        if require(errors, &field, name) {
            push_invalid(errors, &field, name, syntax::label_key(name));
            if names.contains(&name) {
                errors.push(Error::duplicate(&field, name));
            }
            names.push(name);
        }
    }
}

/// Validates the variables of a policy, and declares them for the expressions that follow.
pub(super) fn validate_variables(errors: &mut Vec<Error>, spec: &Value, compiler: &mut Compiler) {
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = SPEC.child("variables");
        let path = path.index(index);
        let (name, source) = (text(variable, "name"), text(variable, "expression"));
        let field = path.child("name");
        if name.trim().is_empty() {
            errors.push(Error::required(&field, "name is not specified"));
        } else if !outrigger_cel::is_identifier(name) {
            errors.push(Error::invalid(
                &field,
                name,
                "must be a valid CEL identifier",
            ));
        }
        let field = path.child("expression");
        validate_expression(errors, &field, source, NOT_SPECIFIED, |source| {
            compiler.variable(name, source).map(drop)
        });
    }
}

/// Reports an expression that is missing or does not compile.
pub(super) fn validate_expression(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    source: &str,
    missing: &str,
    compile: impl FnOnce(&str) -> Result<(), String>,
) {
    if source.trim().is_empty() {
        errors.push(Error::required(path, missing));
    } else if let Err(why) = compile(source) {
        errors.push(Error::invalid(path, source, why));
    }
}
