//! Validation of the expressions of a `ValidatingAdmissionPolicy`.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::admissionregistration::expression::{Compiler, Purpose};
use crate::fields::{list, text};

const SPEC: Path<'static> = Path::root("spec");
const MISSING: &str = "expression is not specified";

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let mut compiler = Compiler::validating(spec);
    for (index, condition) in list(spec, "matchConditions").iter().enumerate() {
        let path = SPEC.child("matchConditions");
        let path = path.index(index);
        let source = text(condition, "expression").trim();
        check(
            errors,
            &path.child("expression"),
            source,
            MISSING,
            |source| compiler.compile(source, Purpose::Condition).map(drop),
        );
    }
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = SPEC.child("variables");
        let path = path.index(index);
        let (name, source) = (text(variable, "name"), text(variable, "expression"));
        check(
            errors,
            &path.child("expression"),
            source,
            MISSING,
            |source| compiler.variable(name, source).map(drop),
        );
    }
    for (index, validation) in list(spec, "validations").iter().enumerate() {
        let path = SPEC.child("validations");
        let path = path.index(index);
        let source = text(validation, "expression");
        check(
            errors,
            &path.child("expression"),
            source,
            MISSING,
            |source| compiler.compile(source, Purpose::Validation).map(drop),
        );
        let source = text(validation, "messageExpression");
        if !source.trim().is_empty() {
            let path = path.child("messageExpression");
            check(errors, &path, source, MISSING, |source| {
                compiler.compile(source, Purpose::Message).map(drop)
            });
        }
    }
}

/// Reports an expression that is missing or does not compile.
pub(super) fn check(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    source: &str,
    missing: &str,
    compile: impl FnOnce(&str) -> Result<(), String>,
) {
    if source.trim().is_empty() {
        errors.push(Error::required(path, missing));
    } else if let Err(why) = compile(source) {
        errors.push(Error::invalid(path, source, why));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_errors(spec: &Value, expected: &[(&str, &str)]) {
        let mut errors = Vec::new();
        validate(&json!({"spec": spec}), &mut errors);
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
