//! Validation of `metav1.Condition` in the status of objects.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{number, text};
use crate::validation::field_checks::{push_invalid, require, validate_enum};

const STATUSES: &[&str] = &["False", "True", "Unknown"];
const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

/// `ValidateConditions`.
pub(crate) fn validate(errors: &mut Vec<Error>, path: &Path<'_>, conditions: &[Value]) {
    let mut types = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let type_ = text(condition, "type");
        if types.contains(&type_) {
            errors.push(Error::duplicate(&path.child("type"), type_));
        }
        types.push(type_);
        validate_condition(errors, &path, condition);
    }
}

fn validate_condition(errors: &mut Vec<Error>, path: &Path<'_>, condition: &Value) {
    let type_ = text(condition, "type");
    push_invalid(errors, &path.child("type"), type_, syntax::label_key(type_));
    validate_enum(
        errors,
        &path.child("status"),
        text(condition, "status"),
        STATUSES,
    );
    let generation = number(condition, "observedGeneration");
    if generation < 0 {
        let field = path.child("observedGeneration");
        let detail = "must be greater than or equal to zero";
        errors.push(Error::invalid(&field, generation, detail));
    }
    require(
        errors,
        &path.child("lastTransitionTime"),
        text(condition, "lastTransitionTime"),
    );
    let field = path.child("reason");
    let reason = text(condition, "reason");
    if require(errors, &field, reason) {
        push_invalid(errors, &field, reason, syntax::condition_reason(reason));
        if reason.len() > MAX_REASON {
            errors.push(Error::too_long(&field, MAX_REASON));
        }
    }
    if text(condition, "message").len() > MAX_MESSAGE {
        errors.push(Error::too_long(&path.child("message"), MAX_MESSAGE));
    }
}
