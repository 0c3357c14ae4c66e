//! Label selectors inside objects.

use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, labels, list, map, text};
use crate::selector::LabelSelector;

/// A selector with `matchLabels` and `matchExpressions`. Absent is fine.
pub(super) fn check(errors: &mut Vec<Error>, path: &Path<'_>, selector: &Value) {
    labels(errors, &path.child("matchLabels"), &selector["matchLabels"]);
    let place = path.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        expression_check(errors, &place.index(index), expression);
    }
}

fn expression_check(errors: &mut Vec<Error>, path: &Path<'_>, expression: &Value) {
    requirement(errors, path, expression, &[]);
    let place = path.child("values");
    for (index, value) in list(expression, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        each(
            errors,
            &place.index(index),
            value,
            syntax::label_value(value),
        );
    }
}

/// The operator, key and number of values of one requirement. `comparisons` are the operators that it may have besides
/// those of sets; each takes one value.
pub(super) fn requirement(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    expression: &Value,
    comparisons: &[&str],
) {
    let values = list(expression, "values");
    let place = path.child("values");
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(Error::required(
            &place,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(Error::forbidden(
            &place,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator if comparisons.contains(&operator) => {
            if values.len() != 1 {
                errors.push(Error::required(
                    &place,
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
    each(errors, &path.child("key"), key, syntax::label_key(key));
}

/// Whether it selects everything because it says nothing.
pub(super) fn is_empty(selector: &Value) -> bool {
    map(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// A selector as messages show it.
pub(super) fn shown(selector: &Value) -> BadValue {
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
            let mut shown = format!(
                "{{\"key\":{},\"operator\":{}",
                expression["key"], expression["operator"]
            );
            if expression["values"].is_array() {
                shown.push_str(&format!(",\"values\":{}", expression["values"]));
            }
            shown + "}"
        })
        .collect();
    if !expressions.is_empty() {
        parts.push(format!("\"matchExpressions\":[{}]", expressions.join(",")));
    }
    BadValue::verbatim(format!("{{{}}}", parts.join(",")))
}

/// Whether the labels of a template are among those that a selector selects. One that is wrong itself selects
/// nothing and is told elsewhere.
pub(super) fn selects(selector: &Value, labels: &Value) -> Option<bool> {
    let selector = LabelSelector::of_object(selector)?;
    Some(selector.matches(labels.as_object()))
}
