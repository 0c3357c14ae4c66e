//! Kinds of the group `admissionregistration.k8s.io`.

pub mod expression;
mod mutating_admission_policy;
mod policy;
mod policy_binding;
mod rules;
mod validating_admission_policy;
pub(crate) mod webhook_configuration;

use outrigger_apimachinery::status::field::Error;
use serde_json::Value;

pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// Validates an object of a kind; an update is allowed to keep some of what was valid before.
pub(crate) fn validate(kind: &str, object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    match kind {
        "ValidatingAdmissionPolicy" => validating_admission_policy::validate(object, old, errors),
        "MutatingAdmissionPolicy" => mutating_admission_policy::validate(object, old, errors),
        "ValidatingAdmissionPolicyBinding" => policy_binding::validate_validating(object, errors),
        "MutatingAdmissionPolicyBinding" => policy_binding::validate_mutating(object, errors),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            webhook_configuration::validate(object, old, errors);
        }
        _ => {}
    }
}

/// Validates an update through the status subresource.
pub(crate) fn validate_status(kind: &str, object: &Value, errors: &mut Vec<Error>) {
    if kind == "ValidatingAdmissionPolicy" {
        validating_admission_policy::validate_status(object, errors);
    }
}
