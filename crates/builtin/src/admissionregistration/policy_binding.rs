//! Validation of `ValidatingAdmissionPolicyBinding` and `MutatingAdmissionPolicyBinding`.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::policy::SPEC;
use super::rules::{validate_match_resources, validate_mutating_operations};
use crate::fields::{list, text, texts};
use crate::validation::field_checks::{push_invalid, require, validate_enum};
use crate::validation::label_selector;

const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];

pub(super) fn validate_validating(object: &Value, errors: &mut Vec<Error>) {
    validate(&object["spec"], errors);
    let field = SPEC.child("validationActions");
    validate_actions(errors, &field, list(&object["spec"], "validationActions"));
}

pub(super) fn validate_mutating(object: &Value, errors: &mut Vec<Error>) {
    validate(&object["spec"], errors);
    let field = SPEC.child("matchResources");
    validate_mutating_operations(errors, &field, &object["spec"]["matchResources"]);
}

fn validate(spec: &Value, errors: &mut Vec<Error>) {
    let field = SPEC.child("policyName");
    let name = text(spec, "policyName");
    if require(errors, &field, name) {
        push_invalid(errors, &field, name, syntax::dns1123_subdomain(name));
    }
    if spec["paramRef"].is_object() {
        validate_param_ref(errors, &SPEC.child("paramRef"), &spec["paramRef"]);
    }
    if spec["matchResources"].is_object() {
        let field = SPEC.child("matchResources");
        validate_match_resources(errors, &field, &spec["matchResources"]);
    }
}

fn validate_param_ref(errors: &mut Vec<Error>, path: &Path<'_>, reference: &Value) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let name = text(reference, "name");
    let has_selector = reference["selector"].is_object();
    let field = path.child("name");
    push_invalid(errors, &field, name, syntax::path_segment(name));
    if !name.is_empty() && has_selector {
        errors.push(Error::forbidden(&field, EXCLUSIVE));
    }
    let field = path.child("selector");
    label_selector::validate(errors, &field, &reference["selector"]);
    if !name.is_empty() && has_selector {
        errors.push(Error::forbidden(&field, EXCLUSIVE));
    }
    if name.is_empty() && !has_selector {
        let detail = "one of name or selector must be specified";
        errors.push(Error::required(path, detail));
    }
    let field = path.child("parameterNotFoundAction");
    let action = text(reference, "parameterNotFoundAction");
    if require(errors, &field, action) {
        validate_enum(errors, &field, action, &["Deny", "Allow"]);
    }
}

fn validate_actions(errors: &mut Vec<Error>, path: &Path<'_>, actions: &[Value]) {
    let mut seen = Vec::new();
    for (index, action) in texts(actions).enumerate() {
        let field = path.index(index);
        validate_enum(errors, &field, action, ACTIONS);
        if seen.contains(&action) {
            errors.push(Error::duplicate(&field, action));
        }
        seen.push(action);
    }
    if seen.contains(&"Deny") && seen.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(Error::invalid(path, Value::from(actions), detail));
    }
    if actions.is_empty() {
        let detail = "at least one validation action is required";
        errors.push(Error::required(path, detail));
    }
}
