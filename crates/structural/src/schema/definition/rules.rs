//! Validates `x-kubernetes-validations`.

use outrigger_apimachinery::status::field::{self, BadValue, ErrorType};
use outrigger_gostd::json::{marshal, marshal_string};
use serde_json::Value;

use super::costs::Costs;
use super::{Context, Object, list, text};
use crate::schema::SchemaRef;

/// Validates the rules of a schema, apart from their expressions.
pub(super) fn validate(schema: &Object, path: &str) -> Vec<field::Error> {
    let mut errors = Vec::new();
    for (i, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        if let Value::Object(rule) = rule {
            let path = format!("{path}.x-kubernetes-validations[{i}]");
            validate_rule(schema, rule, &path, &mut errors);
        }
    }
    errors
}

/// Validates the expressions of the rules of a schema, and adds their costs.
pub(super) fn validate_expressions(
    schema: &Object,
    parsed: SchemaRef<'_>,
    path: &str,
    ctx: &Context,
    costs: &mut Costs,
) -> Vec<field::Error> {
    let values = list(schema, "x-kubernetes-validations");
    if values.is_empty() {
        return Vec::new();
    }
    let node = &parsed.node().rules;
    if !node.has_type {
        let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
        let field = format!("{path}.x-kubernetes-validations");
        return vec![field::Error::new(ErrorType::Internal, field, None, detail)];
    }
    let cardinality = ctx.max_cardinality.unwrap_or(node.max_cardinality);
    let mut errors = Vec::new();
    for (i, (rule, value)) in node.rules.iter().zip(values).enumerate() {
        let field = format!("{path}.x-kubernetes-validations[{i}]");
        let cost = rule.max_cost.saturating_mul(cardinality);
        let at = format!("{field}.rule");
        errors.extend(costs.observe("estimated rule cost", &at, cost));
        if let Err(error) = &rule.program {
            let detail = error.to_string();
            errors.push(field::Error::invalid(at.as_str(), in_go(value), detail));
        }
        let at_message = format!("{field}.messageExpression");
        match &rule.message_program {
            Ok(None) => {}
            Ok(Some(_)) => {
                let name = "estimated messageExpression cost";
                errors.extend(costs.observe(name, &at_message, rule.message_max_cost));
            }
            Err(error) => {
                let detail = error.to_string();
                errors.push(field::Error::invalid(at_message, in_go(value), detail));
            }
        }
        let optional = value.get("optionalOldSelf").filter(|flag| !flag.is_null());
        match (rule.uses_old_self(), &ctx.uncorrelatable, optional) {
            (true, Some(ancestor), _) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {ancestor}"
                );
                errors.push(field::Error::invalid(at, rule.text(), detail));
            }
            (false, _, Some(flag)) => {
                let detail = "may not be set if oldSelf is not used in rule";
                let at = format!("{field}.optionalOldSelf");
                errors.push(field::Error::invalid(at, flag.clone(), detail));
            }
            _ => {}
        }
    }
    errors
}

/// A rule as kube-apiserver formats it in messages: with the names of the fields in Go, and those that are absent.
fn in_go(rule: &Value) -> BadValue {
    let text = |name: &str| marshal_string(rule[name].as_str().unwrap_or_default());
    let optional = |name: &str| marshal(&rule[name]);
    BadValue::verbatim(format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        optional("reason"),
        text("fieldPath"),
        optional("optionalOldSelf"),
    ))
}

fn validate_rule(schema: &Object, rule: &Object, path: &str, errors: &mut Vec<field::Error>) {
    let at = |name: &str| format!("{path}.{name}");
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    if expression.is_empty() {
        errors.push(field::Error::required(at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(field::Error::invalid(
            at("message"),
            message,
            "must be non-empty if specified",
        ));
    } else if message.trim().contains('\n') {
        errors.push(field::Error::invalid(
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
        errors.push(field::Error::not_supported(at("reason"), reason, &reasons));
    }
    let field_path = text(rule, "fieldPath");
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        errors.push(field::Error::invalid(
            at("fieldPath"),
            field_path,
            "must be non-empty if specified",
        ));
    }
    if field_path.contains('\n') {
        errors.push(field::Error::invalid(
            at("fieldPath"),
            field_path,
            "must not contain line breaks",
        ));
    }
    if !is_field_path(field_path, schema) {
        errors.push(field::Error::invalid(
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
