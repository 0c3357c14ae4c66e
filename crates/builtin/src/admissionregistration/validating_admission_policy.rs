//! Validation of `ValidatingAdmissionPolicy`.

use outrigger_apimachinery::json_path::JsonPath;
use outrigger_apimachinery::status::field::{BadValue, Error, Path};
use outrigger_apimachinery::syntax;
use outrigger_gostd::json::marshal;
use serde_json::Value;

use super::expression::{Compiler, Purpose};
use super::policy::{
    NOT_SPECIFIED, SPEC, keeps_match_conditions, validate_expression, validate_match_conditions,
    validate_matching, validate_variables,
};
use crate::fields::{list, text};
use crate::validation::conditions;
use crate::validation::field_checks::{push_invalid, validate_optional_enum};

const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MAX_AUDIT_ANNOTATIONS: usize = 20;
/// In bytes.
const MAX_VALUE_EXPRESSION: usize = 5 * 1024;

pub(super) fn validate(object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let mut compiler = Compiler::validating(spec);
    validate_matching(errors, spec);
    if !keeps_match_conditions(spec, old) {
        let field = SPEC.child("matchConditions");
        let conditions = list(spec, "matchConditions");
        validate_match_conditions(errors, &field, conditions, &compiler);
    }
    validate_variables(errors, spec, &mut compiler);
    let (validations, annotations) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        for key in ["validations", "auditAnnotations"] {
            errors.push(Error::required(&SPEC.child(key), detail));
        }
    }
    let path = SPEC.child("validations");
    for (index, validation) in validations.iter().enumerate() {
        validate_validation(errors, &path.index(index), validation, &compiler);
    }
    validate_audit_annotations(errors, object, &compiler);
}

fn validate_validation(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    validation: &Value,
    compiler: &Compiler,
) {
    let source = text(validation, "expression");
    let field = path.child("expression");
    validate_expression(errors, &field, source, NOT_SPECIFIED, |source| {
        compiler.compile(source, Purpose::Validation).map(drop)
    });
    let (source, message) = (
        text(validation, "messageExpression"),
        text(validation, "message"),
    );
    let field = path.child("messageExpression");
    if is_blank(source) {
        let detail = "must be non-empty if specified";
        errors.push(Error::invalid(&field, source, detail));
    } else if !source.is_empty()
        && let Err(why) = compiler.compile(source, Purpose::Message)
    {
        errors.push(Error::invalid(&field, source, why));
    }
    let field = path.child("message");
    if is_blank(message) {
        let detail = "must be non-empty if specified";
        errors.push(Error::invalid(&field, message, detail));
    } else if message.trim().contains(['\n', '\r']) {
        let detail = "must not contain line breaks";
        errors.push(Error::invalid(&field, message, detail));
    }
    validate_optional_enum(
        errors,
        &path.child("reason"),
        &validation["reason"],
        REASONS,
    );
}

/// Whether a text has white space only.
fn is_blank(text: &str) -> bool {
    !text.is_empty() && text.trim().is_empty()
}

fn validate_audit_annotations(errors: &mut Vec<Error>, object: &Value, compiler: &Compiler) {
    let annotations = list(&object["spec"], "auditAnnotations");
    let path = SPEC.child("auditAnnotations");
    if annotations.len() > MAX_AUDIT_ANNOTATIONS {
        let detail = format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.push(Error::invalid(&path, in_go(annotations), detail));
    }
    let mut keys = Vec::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let path = path.index(index);
        let key = text(annotation, "key");
        let field = path.child("key");
        match text(&object["metadata"], "name") {
            "" => {
                let detail = "requires metadata.name be non-empty";
                errors.push(Error::invalid(&field, key, detail));
            }
            policy => {
                let name = format!("{policy}/{key}");
                push_invalid(errors, &field, &name, syntax::label_key(&name));
            }
        }
        validate_value_expression(
            errors,
            &path.child("valueExpression"),
            text(annotation, "valueExpression"),
            compiler,
        );
        if keys.contains(&key) {
            errors.push(Error::duplicate(&field, key));
        }
        keys.push(key);
    }
}

fn validate_value_expression(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    source: &str,
    compiler: &Compiler,
) {
    let trimmed = source.trim();
    if trimmed.is_empty() {
        errors.push(Error::required(path, "valueExpression is not specified"));
    } else if trimmed.len() > MAX_VALUE_EXPRESSION {
        let detail = format!("must not exceed {MAX_VALUE_EXPRESSION} bytes in length");
        errors.push(Error::required(path, detail));
    } else if let Err(why) = compiler.compile(trimmed, Purpose::AuditAnnotation) {
        errors.push(Error::invalid(path, source, why));
    }
}

/// Audit annotations as kube-apiserver formats them in messages: with the names of the fields in Go.
fn in_go(annotations: &[Value]) -> BadValue {
    let items = annotations.iter().map(|annotation| {
        let (key, value) = (&annotation["key"], &annotation["valueExpression"]);
        format!(
            "{{\"Key\":{},\"ValueExpression\":{}}}",
            marshal(key),
            marshal(value)
        )
    });
    let items: Vec<_> = items.collect();
    BadValue::verbatim(format!("[{}]", items.join(",")))
}

/// Validates an update through the status subresource.
pub(super) fn validate_status(object: &Value, errors: &mut Vec<Error>) {
    let path = Path::root("status");
    let path = path.child("typeChecking");
    let path = path.child("expressionWarnings");
    let warnings = list(&object["status"]["typeChecking"], "expressionWarnings");
    for (index, warning) in warnings.iter().enumerate() {
        let path = path.index(index);
        if text(warning, "warning").is_empty() {
            errors.push(Error::required(&path.child("warning"), ""));
        }
        let field = path.child("fieldRef");
        let reference = text(warning, "fieldRef").trim();
        if reference.is_empty() {
            errors.push(Error::required(&field, ""));
        } else if let Err(error) = JsonPath::parse(&format!("{{{reference}}}")) {
            let detail = format!("invalid JSONPath: {error}");
            errors.push(Error::invalid(&field, reference, detail));
        }
    }
    let path = Path::root("status");
    conditions::validate(
        errors,
        &path.child("conditions"),
        list(&object["status"], "conditions"),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_errors(spec: &Value, expected: &[(&str, &str)]) {
        let mut spec = spec.clone();
        spec["failurePolicy"] = "Fail".into();
        spec["matchConstraints"] = json!({
            "matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {},
            "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"],
            }],
        });
        let mut errors = Vec::new();
        validate(
            &json!({"metadata": {"name": "a"}, "spec": spec}),
            None,
            &mut errors,
        );
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, (field, detail)) in errors.iter().zip(expected) {
            assert_eq!(error.field, *field);
            assert!(error.body().contains(detail), "{}", error.body());
        }
    }

    #[test]
    fn undeclared_variables_are_rejected() {
        check_errors(
            &json!({"validations": [{"expression": "variables.x == 1"}]}),
            &[(
                "spec.validations[0].expression",
                "undeclared reference to 'variables'",
            )],
        );
        check_errors(
            &json!({
                "matchConditions": [{"name": "c", "expression": "variables.x == 1"}],
                "variables": [
                    {"name": "x", "expression": "variables.later"},
                    {"name": "later", "expression": "1"},
                ],
                "validations": [{
                    "expression": "variables.x == 1 && variables.later == 1 && variables.y",
                    "messageExpression": "variables.z",
                }],
            }),
            &[
                (
                    "spec.matchConditions[0].expression",
                    "undeclared reference to 'variables'",
                ),
                ("spec.variables[0].expression", "undefined field 'later'"),
                ("spec.validations[0].expression", "undefined field 'y'"),
                (
                    "spec.validations[0].messageExpression",
                    "undefined field 'z'",
                ),
            ],
        );
    }

    #[test]
    fn variables_and_requests_have_types() {
        check_errors(
            &json!({
                "variables": [{"name": "n", "expression": "1"}, {"name": "d", "expression": "object"}],
                "validations": [
                    {"expression": "variables.n == 'x'"},
                    {"expression": "variables.d.anything == 'x' && request.userInfo.username == 'x'"},
                    {"expression": "request.user == 'x'"},
                    {"expression": "namespaceObject.metadata.label == 'x'"},
                    {"expression": "object.spec.paused"},
                ],
            }),
            &[
                (
                    "spec.validations[0].expression",
                    "found no matching overload",
                ),
                ("spec.validations[2].expression", "undefined field 'user'"),
                ("spec.validations[3].expression", "undefined field 'label'"),
                (
                    "spec.validations[4].expression",
                    "must evaluate to bool but got dyn",
                ),
            ],
        );
    }

    #[test]
    fn only_messages_cannot_refer_to_the_authorizer() {
        let check = "authorizer.requestResource.check('get').allowed()";
        check_errors(
            &json!({
                "matchConditions": [{"name": "c", "expression": check}],
                "variables": [{"name": "x", "expression": check}],
                "validations": [{
                    "expression": format!("variables.x && {check}"),
                    "messageExpression": "authorizer.path('/').check('get').reason()",
                }],
            }),
            &[(
                "spec.validations[0].messageExpression",
                "undeclared reference to 'authorizer'",
            )],
        );
    }
}
