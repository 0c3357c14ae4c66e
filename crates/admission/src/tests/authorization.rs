//! `authorizer` in the expressions of policies.

use serde_json::json;

use super::*;

/// The denial of a pod by a policy with this validation; empty if it is admitted.
fn denial(validation: Value) -> String {
    let spec = json!({"matchConstraints": pods(), "validations": [validation]});
    let cluster = policy(spec, json!({"validationActions": ["Deny"]}));
    let denied = admit(&pod(json!({})), &cluster).err().unwrap_or_default();
    let (_, why) = denied.split_once("denied request: ").unwrap_or_default();
    why.to_owned()
}

fn expression(text: &str) -> String {
    denial(json!({"expression": text}))
}

#[test]
fn validations_check_authorization() {
    for allowed in [
        "authorizer.path('/healthz').check('get').allowed()",
        "!authorizer.path('/healthz').check('post').allowed()",
        "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('x').check('get').allowed()",
        "authorizer.serviceAccount('ns', 'admin').group('').resource('pods').check('delete').allowed()",
        "!authorizer.serviceAccount('ns', 'other').group('').resource('pods').check('delete').allowed()",
        "!authorizer.requestResource.check('create').allowed()",
        "authorizer.requestResource.fieldSelector('a=b').labelSelector('c').check('get').allowed()",
        "!authorizer.path('/x').check('get').errored() && authorizer.path('/x').check('get').error() == ''",
        "authorizer.requestResource.check('get').reason().contains('\"ns\"')",
        "authorizer.requestResource.check('get').reason().contains('\"pods\"')",
    ] {
        assert_eq!(expression(allowed), "", "{allowed}");
    }
}

#[test]
fn match_conditions_check_authorization() {
    let admitted = |condition: &str| {
        let spec = json!({
            "matchConstraints": pods(),
            "matchConditions": [{"name": "c", "expression": condition}],
            "validations": [{"expression": "false"}],
        });
        let cluster = policy(spec, json!({"validationActions": ["Deny"]}));
        admit(&pod(json!({})), &cluster).is_ok()
    };
    assert!(admitted(
        "authorizer.requestResource.check('breakglass').allowed()"
    ));
    assert!(!admitted(
        "authorizer.requestResource.check('get').allowed()"
    ));
}

#[test]
fn checks_of_nothing_and_of_invalid_names_fail() {
    for (text, error) in [
        (
            "authorizer.path(' ').check('get').allowed()",
            "path must not be empty",
        ),
        (
            "authorizer.group('').resource('').check('get').allowed()",
            "resource must not be empty",
        ),
        (
            "authorizer.serviceAccount('a', 'B').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()",
            "Invalid service account namespace",
        ),
    ] {
        let expected = format!("expression '{text}' resulted in error: {error}");
        assert_eq!(expression(text), expected);
    }
}

#[test]
fn an_expression_can_make_only_two_checks() {
    let check = "authorizer.path('/').check('get').allowed()";
    assert_eq!(expression(&format!("{check} && {check}")), "");
    let third = expression(&format!("{check} && {check} && {check}"));
    assert!(third.contains("cost limit exceeded"), "{third}");
}

#[test]
fn messages_cannot_check_authorization() {
    let message = "authorizer.path('/').check('get').reason()";
    let denied = denial(json!({"expression": "false", "messageExpression": message}));
    assert_eq!(denied, "failed expression: false");
    // Not by a variable either.
    let spec = json!({
        "matchConstraints": pods(),
        "variables": [{"name": "v", "expression": message}],
        "validations": [{
            "expression": "variables.v == ''", "messageExpression": "string(variables.v)", "message": "no",
        }],
    });
    let cluster = policy(spec, json!({"validationActions": ["Deny"]}));
    let denied = admit(&pod(json!({})), &cluster).unwrap_err();
    assert!(denied.ends_with("denied request: no"), "{denied}");
}

#[test]
fn a_variable_that_fails_is_named() {
    let spec = json!({
        "matchConstraints": pods(),
        "variables": [{"name": "v", "expression": "object.spec.gone"}],
        "validations": [{"expression": "variables.v == 1"}],
    });
    let cluster = policy(spec, json!({"validationActions": ["Deny"]}));
    let denied = admit(&pod(json!({})), &cluster).unwrap_err();
    let expected = "composited variable \"v\" fails to evaluate: no such key: gone";
    assert!(denied.ends_with(expected), "{denied}");
}
