//! Validation of the label selectors of objects.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, map, text};
use crate::selector::LabelSelector;
use crate::validation::field_checks::{push_invalid, validate_labels};

/// `ValidateLabelSelector`. An absent selector is valid.
pub(crate) fn validate(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    validate_labels(errors, &path.child("matchLabels"), &selector["matchLabels"]);
    let field = path.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        validate_expression(errors, &field.index(index), expression);
    }
}

/// Like [`validate`], but does not check the values of expressions, which old versions of Kubernetes did not either.
pub(crate) fn validate_allowing_any_value(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    selector: &Value,
) {
    validate_labels(errors, &path.child("matchLabels"), &selector["matchLabels"]);
    let field = path.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        validate_requirement(errors, &field.index(index), expression, &[]);
    }
}

fn validate_expression(errors: &mut Vec<Error>, path: &Path<'_>, expression: &Value) {
    validate_requirement(errors, path, expression, &[]);
    let field = path.child("values");
    for (index, value) in list(expression, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        push_invalid(
            errors,
            &field.index(index),
            value,
            syntax::label_value(value),
        );
    }
}

/// Validates the operator, the key and the number of values of a requirement. `comparisons` are operators that are
/// allowed besides those of sets; each takes one value.
pub(crate) fn validate_requirement(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    expression: &Value,
    comparisons: &[&str],
) {
    let values = list(expression, "values");
    let field = path.child("values");
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(Error::required(
            &field,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(Error::forbidden(
            &field,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator if comparisons.contains(&operator) => {
            if values.len() != 1 {
                errors.push(Error::required(
                    &field,
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                ));
            }
        }
        other => errors.push(Error::invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = text(expression, "key");
    push_invalid(errors, &path.child("key"), key, syntax::label_key(key));
}

/// Whether the selector has no requirements, and therefore matches everything.
pub(crate) fn is_empty(selector: &Value) -> bool {
    map(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// A selector as kube-apiserver formats it in messages.
pub(crate) fn bad_value(selector: &Value) -> BadValue {
    if selector.is_null() {
        return BadValue::verbatim("null");
    }
    let mut parts = Vec::new();
    if selector["matchLabels"].is_object() {
        parts.push(format!("\"matchLabels\":{}", selector["matchLabels"]));
    }
    let expressions: Vec<_> = list(selector, "matchExpressions")
        .iter()
        .map(|expression| {
            let mut text = format!(
                "{{\"key\":{},\"operator\":{}",
                expression["key"], expression["operator"]
            );
            if expression["values"].is_array() {
                text.push_str(&format!(",\"values\":{}", expression["values"]));
            }
            text + "}"
        })
        .collect();
    if !expressions.is_empty() {
        parts.push(format!("\"matchExpressions\":[{}]", expressions.join(",")));
    }
    BadValue::verbatim(format!("{{{}}}", parts.join(",")))
}

/// Whether a selector matches the labels of a template. `None` for an invalid selector, which is reported elsewhere.
pub(crate) fn matches(selector: &Value, labels: &Value) -> Option<bool> {
    let selector = LabelSelector::of_object(selector)?;
    Some(selector.matches(labels.as_object()))
}
