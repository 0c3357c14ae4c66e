//! What is rejected, and with which words: policies, replicas of custom resources, numbers and tokens out of range,
//! media types.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use outrigger_apiserver::server::Service;
use serde_json::{Value, json};

use crate::requests::{read, request, server};

const POLICIES: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";
const BINDINGS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings?dryRun=All";
const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";

fn causes(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array();
    let causes = causes.into_iter().flatten();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    causes
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

/// Sends a body as it is: one that `serde_json` cannot write, or a patch.
async fn send_text(
    service: &Service,
    (method, path): (Method, &str),
    kind: &str,
    body: &'static str,
) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", kind);
    let body = Full::new(Bytes::from_static(body.as_bytes()));
    read(service.handle(request.body(body).unwrap()).await).await
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

#[tokio::test]
async fn replicas_of_custom_resources_are_bounded() {
    let server = server().await;
    let service = server.service();
    let replicas = json!({"type": "object", "properties": {"r": {"type": "integer"}}});
    let definition = json!({
        "metadata": {"name": "sizeds.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "sizeds", "kind": "Sized"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": replicas, "status": replicas},
                }},
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r",
                }},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    request(&service, Method::POST, definitions, &definition).await;
    let path = "/apis/example.com/v1/namespaces/default/sizeds";
    let object = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Sized", "metadata": {"name": "a"}, "spec": spec});
    for (count, detail) in [
        (-1_i64, "should be a non-negative integer"),
        (99_999_999_999, "should be less than or equal to 2147483647"),
    ] {
        let body = object(json!({"r": count}));
        let (code, status) = request(&service, Method::POST, path, &body).await;
        assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
        let expected = format!(".spec.r: Invalid value: {count}: {detail}");
        assert_eq!(causes(&status), [expected]);
    }
    let (code, _) = request(&service, Method::POST, path, &object(json!({}))).await;
    assert_eq!(code, StatusCode::CREATED);
    let scale = format!("{path}/a/scale");
    let (code, status) = request(&service, Method::GET, &scale, &Value::Null).await;
    assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR);
    let message = "Internal error occurred: the spec replicas field \".spec.r\" does not exist";
    assert_eq!(status["message"], message);
    let body = json!({"spec": {"replicas": -1}});
    let (_, status) = request(&service, Method::PATCH, &scale, &body).await;
    let expected = ".spec.r: Invalid value: -1: should be a non-negative integer";
    assert_eq!(causes(&status), [expected]);
    let body = json!({"status": {"r": -1}});
    let main = format!("{path}/a/status");
    let (_, status) = request(&service, Method::PATCH, &main, &body).await;
    let expected = ".status.r: Invalid value: -1: should be a non-negative integer";
    assert_eq!(causes(&status), [expected]);
    server.close().await;
}

#[tokio::test]
async fn escapes_of_surrogates_without_a_partner_are_stored_as_replacement_characters() {
    let server = server().await;
    let service = server.service();
    let body = r#"{"metadata":{"name":"a"},"data":{"a":"\ud800","b":"x\udc00y"}}"#;
    let (code, created) =
        send_text(&service, (Method::POST, CONFIGS), "application/json", body).await;
    assert_eq!(code, StatusCode::CREATED, "{created}");
    assert_eq!(created["data"], json!({"a": "\u{fffd}", "b": "x\u{fffd}y"}));
    let path = format!("{CONFIGS}/a");
    for kind in ["merge-patch+json", "strategic-merge-patch+json"] {
        let body = r#"{"data":{"a":"\udbffz"}}"#;
        let kind = format!("application/{kind}");
        let (code, patched) = send_text(&service, (Method::PATCH, &path), &kind, body).await;
        assert_eq!(code, StatusCode::OK, "{patched}");
        assert_eq!(patched["data"]["a"], "\u{fffd}z");
    }
    server.close().await;
}

#[tokio::test]
async fn a_strategic_patch_that_replaces_the_object_must_name_it() {
    let server = server().await;
    let service = server.service();
    let object = json!({"metadata": {"name": "a"}});
    request(&service, Method::POST, CONFIGS, &object).await;
    let path = format!("{CONFIGS}/a");
    let body = r#"{"$patch":"replace","data":{}}"#;
    let kind = "application/strategic-merge-patch+json";
    let (code, status) = send_text(&service, (Method::PATCH, &path), kind, body).await;
    assert_eq!(code, StatusCode::BAD_REQUEST, "{status}");
    let message =
        "the name of the object (a based on URL) was undeterminable: name must be provided";
    assert_eq!(status["message"], message);
    server.close().await;
}

#[tokio::test]
async fn versions_and_tokens_of_the_future_are_too_large() {
    let server = server().await;
    let service = server.service();
    // {"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"x"}
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTIyMzM3MjAzNjg1NDc3NTgwNywic3RhcnQiOiJ4In0";
    let path = format!("{CONFIGS}?limit=1&continue={token}");
    let (code, status) = request(&service, Method::GET, &path, &Value::Null).await;
    assert_eq!(code, StatusCode::GATEWAY_TIMEOUT, "{status}");
    let path = format!("{CONFIGS}?resourceVersion=18446744073709551616");
    let (_, status) = request(&service, Method::GET, &path, &Value::Null).await;
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(": value out of range"), "{message}");
    server.close().await;
}

#[tokio::test]
async fn custom_resources_are_not_acceptable_to_a_client_of_protobuf_only() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let server = server().await;
    let service = server.service();
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    request(&service, Method::POST, definitions, &definition).await;
    let get = |path: &str, accept: &str| {
        let request = Request::builder().uri(path).header("accept", accept);
        service.handle(request.body(Full::<Bytes>::default()).unwrap())
    };
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    for query in ["", "/a", "?watch=1"] {
        let response = get(&format!("{widgets}{query}"), PROTOBUF).await;
        assert_eq!(response.status(), StatusCode::NOT_ACCEPTABLE, "{query}");
        assert_eq!(response.headers()["content-type"], PROTOBUF);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let status = outrigger_protobuf::decode(&body).unwrap();
        assert_eq!(status["reason"], "NotAcceptable");
        assert_eq!(status["code"], 406);
    }
    let response = get(widgets, &format!("{PROTOBUF}, application/json")).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = (Method::POST, widgets);
    let (code, status) = send_text(&service, body, PROTOBUF, "k8s\0").await;
    assert_eq!(code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(
        status["message"],
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"
    );
    server.close().await;
}
