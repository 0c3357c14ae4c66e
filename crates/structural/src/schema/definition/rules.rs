//! Validates `x-kubernetes-validations`.

use outrigger_apimachinery::status::field;
use serde_json::Value;

use super::{Context, Object, field_error, list, text};
use crate::schema::Schema;

/// Returns the errors of the rules, and those of their CEL expressions.
pub(super) fn validate(
    schema: &Object,
    path: &str,
    ctx: &Context,
) -> (Vec<field::Error>, Vec<field::Error>) {
    let rules = list(schema, "x-kubernetes-validations");
    let (mut errors, mut expression_errors) = (Vec::new(), Vec::new());
    if rules.is_empty() {
        return (errors, expression_errors);
    }
    for (i, rule) in rules.iter().enumerate() {
        if let Value::Object(rule) = rule {
            validate_rule(
                schema,
                rule,
                &format!("{path}.x-kubernetes-validations[{i}]"),
                &mut errors,
            );
        }
    }
    let Ok(parsed) = Schema::structural(&Value::Object(schema.clone())) else {
        return (errors, expression_errors);
    };
    for (i, compiled) in parsed.root().node().rules.iter().enumerate() {
        let field = format!("{path}.x-kubernetes-validations[{i}]");
        let value = rules.get(i).cloned().unwrap_or_default();
        if let Err(error) = &compiled.program {
            expression_errors.push(field_error::invalid(
                format!("{field}.rule"),
                value.clone(),
                error.to_string(),
            ));
        }
        if let Some(error) = compiled.message_error() {
            let detail = format!("messageExpression {error}");
            expression_errors.push(field_error::invalid(
                format!("{field}.messageExpression"),
                value.clone(),
                detail,
            ));
        }
        if compiled.uses_old_self() {
            if let Some(ancestor) = &ctx.uncorrelatable {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {ancestor}"
                );
                expression_errors.push(field_error::invalid(
                    format!("{field}.rule"),
                    compiled.text(),
                    detail,
                ));
            }
        } else if let Some(optional) = value
            .get("optionalOldSelf")
            .filter(|optional| !optional.is_null())
        {
            let detail = "may not be set if oldSelf is not used in rule";
            expression_errors.push(field_error::invalid(
                format!("{field}.optionalOldSelf"),
                optional.clone(),
                detail,
            ));
        }
    }
    (errors, expression_errors)
}

fn validate_rule(schema: &Object, rule: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let at = |name: &str| format!("{path}.{name}");
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    if expression.is_empty() {
        errors.push(field::Error::required(at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(field_error::invalid(
            at("message"),
            message,
            "must be non-empty if specified",
        ));
    } else if message.trim().contains('\n') {
        errors.push(field_error::invalid(
            at("message"),
            message,
            "must not contain line breaks",
        ));
    } else if expression.contains('\n') && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(field::Error::required(at("message"), detail));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(field::Error::required(at("messageExpression"), detail));
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
        errors.push(field_error::not_supported(at("reason"), reason, &reasons));
    }
    let field_path = text(rule, "fieldPath");
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        errors.push(field_error::invalid(
            at("fieldPath"),
            field_path,
            "must be non-empty if specified",
        ));
    }
    if field_path.contains('\n') {
        errors.push(field_error::invalid(
            at("fieldPath"),
            field_path,
            "must not contain line breaks",
        ));
    }
    if !is_field_path(field_path, schema) {
        errors.push(field_error::invalid(
            at("fieldPath"),
            field_path,
            "must be a valid path",
        ));
    }
}

/// Whether a path such as `.spec.field` or `['key']` refers to a declared field.
fn is_field_path(path: &str, schema: &Object) -> bool {
    let mut parent = Some(schema);
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
        let Some(schema) = parent.filter(|_| !name.is_empty()) else {
            return false;
        };
        parent = match super::object(schema, "properties") {
            Some(properties) => super::object(properties, name),
            None => super::object(schema, "additionalProperties"),
        };
        if parent.is_none() {
            return false;
        }
    }
    true
}
