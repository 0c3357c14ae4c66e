//! Deeply nested objects: what is accepted can be processed everywhere, and the rest is rejected in every format.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use outrigger_apiserver::server::{Server, Service};
use outrigger_store::{EncodedObject, Resource, Scope, Transaction};
use serde_json::{Value, json};

use crate::requests::{request, send, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEEPS: &str = "/apis/example.com/v1/namespaces/default/deeps";
const LIMIT: usize = 100;

async fn server_with_definition() -> Server {
    let server = server().await;
    let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let definition = json!({
        "metadata": {"name": "deeps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "deeps", "singular": "deep", "kind": "Deep"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    let (code, _) = request(&server.service(), Method::POST, DEFINITIONS, &definition).await;
    assert_eq!(code, StatusCode::CREATED);
    server
}

/// A custom resource of some depth as text, nested lists or maps in two levels of objects.
fn deep(name: &str, depth: usize, brackets: (&str, &str)) -> String {
    let (open, close) = (brackets.0.repeat(depth - 2), brackets.1.repeat(depth - 2));
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Deep","metadata":{{"name":"{name}"}},"spec":{{"x":{open}1{close}}}}}"#
    )
}

const LISTS: (&str, &str) = ("[", "]");
const MAPS: (&str, &str) = ("{\"a\":", "}");

async fn send_text(
    service: &Service,
    method: Method,
    path: &str,
    content_type: &str,
    body: String,
) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", content_type);
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let response = service.handle(request).await;
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn rejects_too_deep_objects_in_every_format() {
    let server = server_with_definition().await;
    let service = server.service();
    let apply = format!("{DEEPS}/a?fieldManager=m");
    for depth in [LIMIT + 1, 150, 3_000, 9_900, 20_000] {
        for brackets in [LISTS, MAPS] {
            for (method, path, content_type) in [
                (Method::POST, DEEPS, "application/json"),
                (Method::POST, DEEPS, "application/yaml"),
                (
                    Method::PATCH,
                    apply.as_str(),
                    "application/apply-patch+yaml",
                ),
            ] {
                let body = deep("a", depth, brackets);
                let (code, status) = send_text(&service, method, path, content_type, body).await;
                assert_eq!(code, StatusCode::BAD_REQUEST, "{depth} {content_type}");
                let message = status["message"].as_str().unwrap();
                assert!(message.contains("exceeded max depth"), "{message}");
            }
        }
    }
    server.close().await;
}

#[tokio::test]
async fn what_is_stored_can_be_read_patched_and_deleted() {
    let server = server_with_definition().await;
    let service = server.service();
    let path = format!("{DEEPS}/a");
    for brackets in [LISTS, MAPS] {
        let apply = format!("{path}?fieldManager=m&force=true");
        let body = deep("a", LIMIT, brackets);
        let (code, _) = send_text(
            &service,
            Method::POST,
            DEEPS,
            "application/json",
            body.clone(),
        )
        .await;
        assert_eq!(code, StatusCode::CREATED);
        let apply_type = "application/apply-patch+yaml";
        let (code, applied) = send_text(&service, Method::PATCH, &apply, apply_type, body).await;
        assert_eq!(code, StatusCode::OK, "{applied}");
        let (code, _) = request(&service, Method::PUT, &path, &applied).await;
        assert_eq!(code, StatusCode::OK);
        let json_patch = json!([{"op": "add", "path": "/spec/y", "value": 1}]);
        for (content_type, patch) in [
            ("application/merge-patch+json", json!({"spec": {"z": 1}})),
            ("application/json-patch+json", json_patch),
        ] {
            let patched = send(&service, Method::PATCH, &path, content_type, &patch).await;
            assert_eq!(patched.status(), StatusCode::OK);
        }
        let deeper = json!([{"op": "move", "from": "/spec/x", "path": "/spec/w/x"}]);
        let added = json!([{"op": "add", "path": "/spec/w", "value": {}}, deeper[0]]);
        let patched = send(
            &service,
            Method::PATCH,
            &path,
            "application/json-patch+json",
            &added,
        )
        .await;
        assert_eq!(patched.status(), StatusCode::BAD_REQUEST);
        for accept in [
            "application/json",
            "application/yaml",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        ] {
            let request = Request::get(DEEPS).header("accept", accept);
            let response = service
                .handle(request.body(Full::new(Bytes::new())).unwrap())
                .await;
            assert_eq!(response.status(), StatusCode::OK, "{accept}");
        }
        let (code, _) = request(&service, Method::DELETE, &path, &Value::Null).await;
        assert_eq!(code, StatusCode::OK);
    }
    server.close().await;
}

/// Stores an object as an older version did, without a limit.
async fn store_deep(server: &Server, name: &str) {
    let nested = (0..150).fold(json!(1), |value, _| json!([value]));
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    let object = json!({"apiVersion": "example.com/v1", "kind": "Deep", "metadata": metadata, "spec": {"x": nested}});
    let resource = Resource::new("example.com", "deeps").unwrap();
    let key = resource.key("default", name).unwrap();
    let encoded = EncodedObject::new(&object).unwrap();
    let created = Transaction::create(key, encoded);
    server.store().write(created).await.unwrap();
}

#[tokio::test]
async fn objects_that_an_older_version_stored_can_be_listed_and_deleted_but_not_patched() {
    let server = server_with_definition().await;
    let service = server.service();
    store_deep(&server, "a").await;
    let path = format!("{DEEPS}/a");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for accept in ["application/json", table] {
        let request = Request::get(DEEPS).header("accept", accept);
        let request = request.body(Full::new(Bytes::new())).unwrap();
        assert_eq!(service.handle(request).await.status(), StatusCode::OK);
    }
    let (code, status) = request(&service, Method::PATCH, &path, &json!({"spec": {"y": 1}})).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        status["message"],
        "Deep \"a\" exceeded max depth of 100; it can only be replaced or deleted"
    );
    let (code, _) = request(&service, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    let (code, _) = request(&service, Method::GET, &path, &Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    server.close().await;
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_deep_objects() {
    let server = server_with_definition().await;
    store_deep(&server, "a").await;
    store_deep(&server, "b").await;
    let definition = format!("{DEFINITIONS}/deeps.example.com");
    request(&server.service(), Method::DELETE, &definition, &Value::Null).await;
    let store = server.store();
    let definitions = Resource::new("apiextensions.k8s.io", "customresourcedefinitions").unwrap();
    let key = definitions.key("", "deeps.example.com").unwrap();
    let removed = async {
        let mut watcher = store.watch(Scope::everything(), store.revision()).unwrap();
        while store.get(&key).is_some() {
            watcher.next().await.unwrap();
        }
    };
    let removed = tokio::time::timeout(Duration::from_secs(20), removed).await;
    assert_eq!(removed, Ok(()));
    let scope = Scope::resource(&Resource::new("example.com", "deeps").unwrap());
    assert_eq!(store.snapshot().list(&scope).count(), 0);
    server.close().await;
}
