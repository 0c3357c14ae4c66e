//! Expensive requests do not run on the threads that serve others. These tests have only one such thread: whatever runs
//! on it before another request, the other one waits for.

use std::pin::pin;

use futures::future::{Either, select};
use http::{Method, StatusCode};
use outrigger_apiserver::server::Service;
use serde_json::{Value, json};

use crate::requests::{request, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn define(service: &Service, rules: &[&str]) {
    let definition = definition(rules);
    let (code, answer) = request(service, Method::POST, DEFINITIONS, &definition).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
}

/// The definition of widgets with these rules.
fn definition(rules: &[&str]) -> Value {
    let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    let spec = json!({
        "type": "object",
        "properties": {"l": {"type": "array", "maxItems": 50, "items": {"type": "integer"}}},
        "x-kubernetes-validations": rules,
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name},
        "spec": {"l": vec![100; 50]},
    })
}

/// Whether a small request is answered before one that was sent first.
async fn is_overtaken(
    service: &Service,
    first: impl Future<Output = (StatusCode, Value)>,
    expected: StatusCode,
) -> bool {
    let small = pin!(request(service, Method::GET, CONFIG_MAPS, &Value::Null));
    match select(pin!(first), small).await {
        Either::Left(_) => false,
        Either::Right((_, first)) => {
            let (code, answer) = first.await;
            assert_eq!(code, expected, "{answer}");
            true
        }
    }
}

#[tokio::test]
async fn an_expensive_rule_delays_no_other_request() {
    let server = server().await;
    let service = server.service();
    define(
        &service,
        &["self.l.all(a, self.l.all(b, self.l.all(c, c > 0)))"],
    )
    .await;
    // Compiles the schema.
    request(&service, Method::GET, WIDGETS, &Value::Null).await;
    let widget = widget("w");
    let create = request(&service, Method::POST, WIDGETS, &widget);
    assert!(is_overtaken(&service, create, StatusCode::CREATED).await);
    server.close().await;
}

#[tokio::test]
async fn a_cheap_rule_is_evaluated_at_once() {
    let server = server().await;
    let service = server.service();
    define(&service, &["self.l.all(a, a > 0)"]).await;
    request(&service, Method::POST, WIDGETS, &widget("first")).await;
    let widget = widget("w");
    let path = format!("{WIDGETS}?dryRun=All");
    let create = request(&service, Method::POST, &path, &widget);
    assert!(!is_overtaken(&service, create, StatusCode::CREATED).await);
    server.close().await;
}

#[tokio::test]
async fn a_large_object_a_definition_and_a_document_delay_no_other_request() {
    let server = server().await;
    let service = server.service();
    let large = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"},
        "data": {"text": "x".repeat(100_000)},
    });
    let path = format!("{CONFIG_MAPS}?dryRun=All");
    let create = request(&service, Method::POST, &path, &large);
    assert!(is_overtaken(&service, create, StatusCode::CREATED).await);
    let definition = definition(&["self.l.all(a, a > 0)"; 200]);
    let define = request(&service, Method::POST, DEFINITIONS, &definition);
    assert!(is_overtaken(&service, define, StatusCode::CREATED).await);
    let document = request(&service, Method::GET, "/openapi/v2", &Value::Null);
    assert!(is_overtaken(&service, document, StatusCode::OK).await);
    server.close().await;
}
