//! The rules for validation rules.

use serde_json::Value;

use super::{FieldError, Object, Place, list, text};
use crate::schema::Schema;

/// What is wrong with the rules of one schema, and what is wrong with their expressions.
pub(super) fn check(
    schema: &Object,
    path: &str,
    place: &Place,
) -> (Vec<FieldError>, Vec<FieldError>) {
    let rules = list(schema, "x-kubernetes-validations");
    let (mut errors, mut in_expressions) = (Vec::new(), Vec::new());
    if rules.is_empty() {
        return (errors, in_expressions);
    }
    for (i, rule) in rules.iter().enumerate() {
        if let Value::Object(rule) = rule {
            check_rule(
                schema,
                rule,
                &format!("{path}.x-kubernetes-validations[{i}]"),
                &mut errors,
            );
        }
    }
    let Ok(parsed) = Schema::structural(&Value::Object(schema.clone())) else {
        return (errors, in_expressions);
    };
    for (i, compiled) in parsed.root().node().rules.iter().enumerate() {
        let field = format!("{path}.x-kubernetes-validations[{i}]");
        let shown = rules.get(i).cloned().unwrap_or_default();
        if let Err(problem) = &compiled.program {
            in_expressions.push(FieldError::invalid(
                format!("{field}.rule"),
                shown.clone(),
                problem.as_str(),
            ));
        }
        if let Some(problem) = compiled.message_problem() {
            let detail = format!("messageExpression {problem}");
            in_expressions.push(FieldError::invalid(
                format!("{field}.messageExpression"),
                shown.clone(),
                detail,
            ));
        }
        if compiled.uses_old_self() {
            if let Some(above) = &place.uncorrelated {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
                );
                in_expressions.push(FieldError::invalid(
                    format!("{field}.rule"),
                    compiled.text(),
                    detail,
                ));
            }
        } else if let Some(optional) = shown
            .get("optionalOldSelf")
            .filter(|value| !value.is_null())
        {
            let detail = "may not be set if oldSelf is not used in rule";
            in_expressions.push(FieldError::invalid(
                format!("{field}.optionalOldSelf"),
                optional.clone(),
                detail,
            ));
        }
    }
    (errors, in_expressions)
}

fn check_rule(schema: &Object, rule: &Object, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    if expression.is_empty() {
        errors.push(FieldError::required(at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            at("message"),
            message,
            "must be non-empty if specified",
        ));
    } else if message.trim().contains('\n') {
        errors.push(FieldError::invalid(
            at("message"),
            message,
            "must not contain line breaks",
        ));
    } else if expression.contains('\n') && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at("message"), detail));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(at("messageExpression"), detail));
    }
    let reasons = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    if let Some(reason) = rule
        .get("reason")
        .and_then(Value::as_str)
        .filter(|reason| !reasons.contains(reason))
    {
        errors.push(FieldError::not_supported(
            at("reason"),
            reason,
            &reasons.map(str::to_owned),
        ));
    }
    let field_path = text(rule, "fieldPath");
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        errors.push(FieldError::invalid(
            at("fieldPath"),
            field_path,
            "must be non-empty if specified",
        ));
    }
    if field_path.contains('\n') {
        errors.push(FieldError::invalid(
            at("fieldPath"),
            field_path,
            "must not contain line breaks",
        ));
    }
    if !is_path(field_path, schema) {
        errors.push(FieldError::invalid(
            at("fieldPath"),
            field_path,
            "must be a valid path",
        ));
    }
}

/// Whether a path like `.spec.field` or `['key']` leads to a declared field.
fn is_path(path: &str, schema: &Object) -> bool {
    let mut place = Some(schema);
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let Some((key, after)) = after.split_once("']") else {
                return false;
            };
            (name, rest) = (key, after);
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            (name, rest) = after.split_at(end);
        } else {
            return false;
        }
        let Some(schema) = place.filter(|_| !name.is_empty()) else {
            return false;
        };
        place = match super::object(schema, "properties") {
            Some(properties) => super::object(properties, name),
            None => super::object(schema, "additionalProperties"),
        };
        if place.is_none() {
            return false;
        }
    }
    true
}
