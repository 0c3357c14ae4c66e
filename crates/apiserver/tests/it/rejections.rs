//! What is rejected, and with which words.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::requests::{request, server};

const POLICIES: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";
const BINDINGS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings?dryRun=All";

fn causes(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array();
    let causes = causes.into_iter().flatten();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    causes
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

#[tokio::test]
async fn invalid_policies_and_bindings_are_rejected_with_all_errors() {
    let server = server().await;
    let service = server.service();
    let policy = json!({
        "metadata": {"name": "a"},
        "spec": {
            "failurePolicy": "fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [], "apiVersions": ["v1"], "operations": ["FROB"], "resources": ["*", "pods"],
            }]},
            "variables": [{"name": "a-b", "expression": "1"}],
            "auditAnnotations": [{"key": "k", "valueExpression": "1"}],
        },
    });
    let (code, status) = request(&service, Method::POST, POLICIES, &policy).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = [
        "spec.failurePolicy: Unsupported value: \"fail\": supported values: \"Fail\", \"Ignore\"",
        "spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: \"FROB\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        "spec.matchConstraints.resourceRules[0].apiGroups: Required value",
        "spec.matchConstraints.resourceRules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources",
        "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier",
        "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int",
    ];
    assert_eq!(causes(&status), expected);
    let binding = json!({
        "metadata": {"name": "a"},
        "spec": {"validationActions": ["Deny", "Deny", "Bogus"], "paramRef": {"parameterNotFoundAction": "Deny"}},
    });
    let (code, status) = request(&service, Method::POST, BINDINGS, &binding).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = [
        "spec.policyName: Required value",
        "spec.paramRef: Required value: one of name or selector must be specified",
        "spec.validationActions[1]: Duplicate value: \"Deny\"",
        "spec.validationActions[2]: Unsupported value: \"Bogus\": supported values: \"Audit\", \"Deny\", \"Warn\"",
    ];
    assert_eq!(causes(&status), expected);
    server.close().await;
}
