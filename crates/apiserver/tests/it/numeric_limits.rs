//! Numbers and values at the limits of their types: computed with as Go does, or rejected.

use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use outrigger_apiserver::loopback::{Client, ResourcePath};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

use crate::requests::{request, send, server};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod() -> Value {
    json!({
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "node1",
            "terminationGracePeriodSeconds": i64::MAX,
            "containers": [{"name": "c", "image": "x"}],
        },
    })
}

#[tokio::test]
async fn a_grace_period_at_the_limit_wraps_around_like_go() {
    let server = server().await;
    let service = server.service();
    request(&service, Method::POST, PODS, &pod()).await;
    let path = |seconds: i64| format!("{PODS}/p?gracePeriodSeconds={seconds}");
    let (code, deleted) = request(&service, Method::DELETE, &path(i64::MAX), &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], i64::MAX);
    // The deletion should have ended a second ago, so the shorter grace period has expired.
    let shorter = path(i64::MAX - 1);
    let (_, deleted) = request(&service, Method::DELETE, &shorter, &Value::Null).await;
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 1);
    server.close().await;
}

#[tokio::test]
async fn a_folder_with_an_orphaned_pod_with_the_longest_grace_period_can_be_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = ResourcePath::all("v1", "pods")
        .in_namespace("default")
        .named("p");
    for _ in 0..2 {
        let options = Options::in_folder(folder.path());
        let server = Server::open(options).await.unwrap();
        server.run_controllers();
        let client = Client::new(server.service(), "test");
        let mut pod = pod();
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "gone",
            "uid": "00000000-0000-0000-0000-000000000000",
        }]);
        // It exists after the restart.
        let _ = client.create(&path, &pod).await;
        let is_collected = |pod: Option<&Value>| {
            pod.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_string())
        };
        let collected = client.await_condition(&path, is_collected);
        let collected = tokio::time::timeout(Duration::from_secs(20), collected).await;
        collected.unwrap().unwrap();
        server.close().await;
    }
}

#[tokio::test]
async fn a_watch_with_the_longest_timeout_ends_at_once() {
    let server = server().await;
    let path = format!("/api/v1/pods?watch=1&timeoutSeconds={}", i64::MAX);
    let response = send(&server.service(), Method::GET, &path, "", &Value::Null).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.is_empty(), "{body:?}");
    server.close().await;
}

#[tokio::test]
async fn rejects_bodies_of_subresources_and_reviews_with_values_of_the_wrong_type() {
    let server = server().await;
    let service = server.service();
    request(&service, Method::POST, PODS, &pod()).await;
    let of_spec = |kind: &str| {
        format!(
            "{kind} in version \"v1\" cannot be handled as a {kind}: json: cannot unmarshal string into Go struct field {kind}.spec of type v1.{kind}Spec"
        )
    };
    let accounts = "/api/v1/namespaces/default/serviceaccounts/default";
    let (spec, metadata) = (json!({"spec": "x"}), json!({"metadata": "x"}));
    for (method, path, body, message) in [
        (Method::POST, format!("{accounts}/token"), &spec, of_spec("TokenRequest")),
        (Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews".to_owned(), &spec, of_spec("SubjectAccessReview")),
        (Method::PUT, "/apis/apps/v1/namespaces/default/deployments/d/scale".to_owned(), &spec, of_spec("Scale")),
        (
            Method::POST,
            format!("{PODS}/p/eviction"),
            &metadata,
            "Eviction in version \"v1\" cannot be handled as a Eviction: json: cannot unmarshal string into Go struct field Eviction.metadata of type v1.ObjectMeta".to_owned(),
        ),
        (
            Method::POST,
            format!("{PODS}/p/binding"),
            &json!({}),
            "name in URL does not match name in Binding object".to_owned(),
        ),
        (
            Method::DELETE,
            format!("{PODS}/p"),
            &json!({"gracePeriodSeconds": "x"}),
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64".to_owned(),
        ),
    ] {
        if path.contains("/deployments/") {
            let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
            let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
            let deployments = "/apis/apps/v1/namespaces/default/deployments";
            let (code, _) = request(&service, Method::POST, deployments, &deployment).await;
            assert_eq!(code, StatusCode::CREATED);
        }
        let (code, status) = request(&service, method, &path, body).await;
        assert_eq!((code, status["message"].as_str()), (StatusCode::BAD_REQUEST, Some(message.as_str())), "{path}");
    }
    server.close().await;
}
