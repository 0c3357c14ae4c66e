//! Writes that race with deletions and with each other.

use http::{Method, StatusCode};
use outrigger_apiserver::server::Service;
use serde_json::{Value, json};

use crate::requests::{read, request, send, server};

const NAMESPACE: &str = "/api/v1/namespaces/default";
const ROUNDS: usize = 300;

/// Applies a ConfigMap.
async fn apply(service: &Service, path: &str, manager: &str) -> (StatusCode, Value) {
    let name = path.rsplit('/').next().unwrap();
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {manager: "x"}});
    let path = format!("{path}?fieldManager={manager}");
    let content_type = "application/apply-patch+yaml";
    read(send(service, Method::PATCH, &path, content_type, &config).await).await
}

fn is_applied((code, status): &(StatusCode, Value)) -> bool {
    assert!(code.is_success(), "{status}");
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_apply_during_a_deletion_succeeds() {
    let server = server().await;
    for round in 0..ROUNDS {
        let path = format!("{NAMESPACE}/configmaps/c{round}");
        let service = server.service();
        apply(&service, &path, "a").await;
        let (deleting, of_deletion) = (path.clone(), service.clone());
        let deletion = tokio::spawn(async move {
            request(&of_deletion, Method::DELETE, &deleting, &Value::Null).await
        });
        assert!(is_applied(&apply(&service, &path, "b").await));
        deletion.await.unwrap();
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn two_applies_that_create_an_object_both_succeed() {
    let server = server().await;
    for round in 0..ROUNDS {
        let path = format!("{NAMESPACE}/configmaps/c{round}");
        let service = server.service();
        let (other_path, other) = (path.clone(), service.clone());
        let other = tokio::spawn(async move { apply(&other, &other_path, "a").await });
        assert!(is_applied(&apply(&service, &path, "b").await));
        assert!(is_applied(&other.await.unwrap()));
        let (_, both) = request(&service, Method::GET, &path, &Value::Null).await;
        assert_eq!(both["data"], json!({"a": "x", "b": "x"}));
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_binding_during_a_deletion_succeeds_or_finds_no_pod() {
    let server = server().await;
    for round in 0..ROUNDS {
        let service = server.service();
        let name = format!("p{round}");
        let pods = format!("{NAMESPACE}/pods");
        let pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        request(&service, Method::POST, &pods, &pod).await;
        let (deleting, of_deletion) = (
            format!("{pods}/{name}?gracePeriodSeconds=0"),
            service.clone(),
        );
        let deletion = tokio::spawn(async move {
            request(&of_deletion, Method::DELETE, &deleting, &Value::Null).await
        });
        let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}});
        let path = format!("{pods}/{name}/binding");
        let (code, status) = request(&service, Method::POST, &path, &binding).await;
        let expected = [StatusCode::CREATED, StatusCode::NOT_FOUND];
        assert!(expected.contains(&code), "{status}");
        deletion.await.unwrap();
    }
    server.close().await;
}
