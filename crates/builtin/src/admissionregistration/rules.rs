//! Validation of the rules that select requests, for admission policies, their bindings and webhooks.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, text, texts};
use crate::validation::field_checks::{push_invalid, validate_enum, validate_optional_enum};
use crate::validation::label_selector;

pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// There is nothing to mutate in a deletion.
const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];

/// Validates `matchConstraints` of a policy or `matchResources` of a binding.
pub(super) fn validate_match_resources(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    resources: &Value,
) {
    let field = path.child("matchPolicy");
    match resources["matchPolicy"].as_str() {
        None => errors.push(Error::required(&field, "")),
        Some(policy) => {
            validate_enum(errors, &field, policy, MATCH_POLICIES);
        }
    }
    for key in ["namespaceSelector", "objectSelector"] {
        let field = path.child(key);
        if resources[key].is_null() {
            errors.push(Error::required(&field, ""));
        }
        label_selector::validate(errors, &field, &resources[key]);
    }
    for key in ["resourceRules", "excludeResourceRules"] {
        let field = path.child(key);
        for (index, rule) in list(resources, key).iter().enumerate() {
            let field = field.index(index);
            validate_resource_names(errors, &field.child("resourceNames"), rule);
            validate_rule(errors, &field, rule);
        }
    }
}

/// Requires operations that have something to mutate. The errors name no index, as those of kube-apiserver.
pub(super) fn validate_mutating_operations(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    resources: &Value,
) {
    let field = path.child("resourceRules");
    let field = field.child("operations");
    for rule in list(resources, "resourceRules") {
        for operation in texts(list(rule, "operations")) {
            validate_enum(errors, &field, operation, MUTATING_OPERATIONS);
        }
    }
}

fn validate_resource_names(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    let mut seen = Vec::new();
    for (index, name) in texts(list(rule, "resourceNames")).enumerate() {
        let field = path.index(index);
        push_invalid(errors, &field, name, syntax::path_segment(name));
        if seen.contains(&name) {
            errors.push(Error::duplicate(&field, name));
        }
        seen.push(name);
    }
}

/// Validates a rule with operations.
pub(super) fn validate_rule(errors: &mut Vec<Error>, path: &Path<'_>, rule: &Value) {
    let field = path.child("operations");
    validate_wildcard(errors, &field, list(rule, "operations"), "operations");
    for (index, operation) in texts(list(rule, "operations")).enumerate() {
        validate_enum(errors, &field.index(index), operation, OPERATIONS);
    }
    let field = path.child("apiGroups");
    validate_wildcard(errors, &field, list(rule, "apiGroups"), "API groups");
    let field = path.child("apiVersions");
    validate_wildcard(errors, &field, list(rule, "apiVersions"), "API versions");
    for (index, version) in texts(list(rule, "apiVersions")).enumerate() {
        if version.is_empty() {
            errors.push(Error::required(&field.index(index), ""));
        }
    }
    validate_resources(errors, &path.child("resources"), list(rule, "resources"));
    validate_optional_enum(errors, &path.child("scope"), &rule["scope"], SCOPES);
}

/// Requires values, and nothing besides the wildcard.
fn validate_wildcard(errors: &mut Vec<Error>, path: &Path<'_>, values: &[Value], what: &str) {
    if values.is_empty() {
        errors.push(Error::required(path, ""));
    }
    if values.len() > 1 && values.iter().any(|value| value == "*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(Error::invalid(path, Value::from(values), detail));
    }
}

fn validate_resources(errors: &mut Vec<Error>, path: &Path<'_>, resources: &[Value]) {
    if resources.is_empty() {
        errors.push(Error::required(path, ""));
    }
    // Resources with all subresources, and subresources of all resources.
    let (mut whole, mut everywhere) = (Vec::new(), Vec::new());
    // Like in kube-apiserver, the last resource without a subresource decides.
    let mut names_resource = false;
    for (index, name) in texts(resources).enumerate() {
        let field = path.index(index);
        if name.is_empty() {
            errors.push(Error::required(&field, ""));
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            names_resource = name != "*";
            continue;
        };
        if whole.contains(&resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {name}");
            errors.push(Error::invalid(&field, name, detail));
        }
        if everywhere.contains(&subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {name}");
            errors.push(Error::invalid(&field, name, detail));
        }
        if subresource == "*" {
            whole.push(resource);
        }
        if resource == "*" {
            everywhere.push(subresource);
        }
    }
    let has = |wildcard: &str| resources.iter().any(|resource| resource == wildcard);
    if resources.len() > 1 && has("*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(Error::invalid(path, Value::from(resources), detail));
    }
    if has("*") && names_resource {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(Error::invalid(path, Value::from(resources), detail));
    }
}

/// Validates `failurePolicy` of a policy, which defaulting sets.
pub(super) fn validate_failure_policy(errors: &mut Vec<Error>, path: &Path<'_>, spec: &Value) {
    let field = path.child("failurePolicy");
    if spec["failurePolicy"].is_null() {
        errors.push(Error::required(&field, ""));
    } else {
        validate_enum(
            errors,
            &field,
            text(spec, "failurePolicy"),
            FAILURE_POLICIES,
        );
    }
}
