//! The whole server, from a request to its response, in process and over HTTPS.

use std::sync::Arc;

use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use outrigger_apiserver::server::Simulation;
use serde_json::{Value, json};

use crate::requests::{read, request, send, server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

#[tokio::test]
async fn supports_all_verbs() {
    let server = server().await;
    let service = server.service();
    let path = format!("{CONFIG_MAPS}/a");
    let (code, made) = request(&service, Method::POST, CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(
        (code, &made["data"]["k"]),
        (StatusCode::CREATED, &json!("v"))
    );
    let (code, twice) = request(&service, Method::POST, CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(code, StatusCode::CONFLICT);
    assert_eq!(twice["message"], "configmaps \"a\" already exists");
    let (_, got) = request(&service, Method::GET, &path, &Value::Null).await;
    assert_eq!(got, made);

    let (_, patched) = request(&service, Method::PATCH, &path, &json!({"data": {"k": "w"}})).await;
    assert_eq!(patched["data"]["k"], "w");
    let (_, same) = request(&service, Method::PATCH, &path, &json!({"data": {"k": "w"}})).await;
    assert_eq!(
        same["metadata"]["resourceVersion"],
        patched["metadata"]["resourceVersion"]
    );

    let apply = format!("{path}?fieldManager=other");
    let response = send(
        &service,
        Method::PATCH,
        &apply,
        "application/apply-patch+yaml",
        &config_map("a"),
    )
    .await;
    let (code, refused) = read(response).await;
    assert_eq!(code, StatusCode::CONFLICT);
    assert_eq!(
        refused["details"]["causes"][0]["reason"],
        "FieldManagerConflict"
    );

    let (code, stale) = request(&service, Method::PUT, &path, &made).await;
    assert_eq!(
        (code, &stale["reason"]),
        (StatusCode::CONFLICT, &json!("Conflict"))
    );
    let (code, deleted) = request(&service, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(
        (code, &deleted["status"]),
        (StatusCode::OK, &json!("Success"))
    );
    let (code, _) = request(&service, Method::GET, &path, &Value::Null).await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    server.close().await;
}

#[tokio::test]
async fn paginates_a_list_at_one_revision() {
    let server = server().await;
    let service = server.service();
    for name in ["a", "b", "c"] {
        request(&service, Method::POST, CONFIG_MAPS, &config_map(name)).await;
    }
    let first = format!("{CONFIG_MAPS}?limit=2");
    let (_, page) = request(&service, Method::GET, &first, &Value::Null).await;
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&page), ["a", "b"]);
    assert!(page["items"][0].get("kind").is_none());
    assert_eq!(page["metadata"]["remainingItemCount"], 2);
    request(
        &service,
        Method::DELETE,
        &format!("{CONFIG_MAPS}/c"),
        &Value::Null,
    )
    .await;
    let token = page["metadata"]["continue"].as_str().unwrap();
    let next = format!("{CONFIG_MAPS}?limit=5&continue={token}");
    let (_, page) = request(&service, Method::GET, &next, &Value::Null).await;
    assert_eq!(names(&page), ["c", "kube-root-ca.crt"]);
    server.close().await;
}

#[tokio::test]
async fn a_watch_reports_objects_that_start_or_stop_matching() {
    let server = server().await;
    let service = server.service();
    let revision = server.store().revision();
    let watch = format!("{CONFIG_MAPS}?watch=true&resourceVersion={revision}&labelSelector=l%3D1");
    let response = send(&service, Method::GET, &watch, "", &Value::Null).await;
    let mut events = response.into_body();
    let path = format!("{CONFIG_MAPS}/a");
    request(&service, Method::POST, CONFIG_MAPS, &config_map("a")).await;
    for label in ["1", "2"] {
        let patch = json!({"metadata": {"labels": {"l": label}}});
        request(&service, Method::PATCH, &path, &patch).await;
    }
    let mut lines = String::new();
    while lines.matches('\n').count() < 2 {
        let frame = events.frame().await.unwrap().unwrap();
        lines.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    let types: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(types, ["ADDED", "DELETED"]);
    server.close().await;
    assert!(events.frame().await.is_none());
}

#[tokio::test]
async fn serves_a_definition_as_soon_as_it_is_created() {
    let server = server().await;
    let service = server.service();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 3},
    }}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, _) = request(&service, Method::POST, definitions, &definition).await;
    assert_eq!(code, StatusCode::CREATED);
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = |size: i64| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
            "spec": {"size": size, "unknown": true},
        })
    };
    let (code, refused) = request(&service, Method::POST, widgets, &widget(0)).await;
    assert_eq!(
        (code, &refused["reason"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("Invalid"))
    );
    let (_, made) = request(&service, Method::POST, widgets, &widget(2)).await;
    assert_eq!(made["spec"], json!({"size": 2}));

    let path = format!("{definitions}/widgets.example.com");
    let (_, marked) = request(&service, Method::DELETE, &path, &Value::Null).await;
    let version = marked["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = format!(
        "{definitions}?watch=true&fieldSelector=metadata.name%3Dwidgets.example.com&resourceVersion={version}"
    );
    let response = send(&service, Method::GET, &watch, "", &Value::Null).await;
    let mut events = response.into_body();
    let mut seen = String::new();
    while !seen.contains("DELETED") {
        let frame = events.frame().await.unwrap().unwrap();
        seen.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    // It is forgotten right after the event.
    while request(&service, Method::GET, widgets, &Value::Null)
        .await
        .0
        != StatusCode::NOT_FOUND
    {
        tokio::task::yield_now().await;
    }
    server.close().await;
}

#[tokio::test]
async fn rejects_invalid_requests_like_the_real_server() {
    let server = server().await;
    let service = server.service();
    let nowhere = send(
        &service,
        Method::GET,
        "/apis/nowhere.example.com/v1/things",
        "",
        &Value::Null,
    )
    .await;
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    let text = nowhere.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(text, "404 page not found\n");

    let large = json!({"data": "x".repeat(4 * 1024 * 1024)});
    let (code, refused) = request(&service, Method::POST, CONFIG_MAPS, &large).await;
    assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        refused["message"],
        "Request entity too large: limit is 3145728"
    );

    let response = send(
        &service,
        Method::POST,
        CONFIG_MAPS,
        "application/cbor",
        &json!({}),
    )
    .await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let (code, _) = request(
        &service,
        Method::POST,
        "/api/v1/namespaces/no/configmaps",
        &config_map("a"),
    )
    .await;
    assert_eq!(code, StatusCode::NOT_FOUND);
    server.close().await;
}

#[tokio::test]
async fn generates_names_with_the_prefix_of_a_definition() {
    let server = server().await;
    let service = server.service();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "ships.example.com",
            "annotations": {"outrigger.dev/generated-name-prefix": "ship-"},
        },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "ships", "kind": "Ship"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    request(&service, Method::POST, definitions, &definition).await;
    let ships = "/apis/example.com/v1/namespaces/default/ships";
    let ship = json!({"apiVersion": "example.com/v1", "kind": "Ship"});
    let (code, made) = request(&service, Method::POST, ships, &ship).await;
    assert_eq!(code, StatusCode::CREATED, "{made}");
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("ship-") && name.len() == 10, "{name}");
    let (code, _) = request(&service, Method::POST, CONFIG_MAPS, &config_map("")).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY);
    server.close().await;
}

#[derive(Debug)]
struct NoNodes;

impl Simulation for NoNodes {
    fn warnings(&self, _: &Value, _: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    fn pod_log(&self, _: &Value, _: &str) -> Option<String> {
        None
    }
}

#[tokio::test]
async fn rejects_objects_that_require_extensions_unless_workloads_are_simulated() {
    let server = server().await;
    let service = server.service();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"},
        "webhooks": [{
            "name": "w.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"},
        }],
    });
    let (code, refused) = request(&service, Method::POST, path, &configuration).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    assert_eq!(
        refused["message"],
        "validatingwebhookconfigurations.admissionregistration.k8s.io \"w\" is forbidden: admission webhooks \
         are not supported by this server, so the object would have no effect"
    );
    server.attach_simulation(Arc::new(NoNodes));
    let kind = "application/json";
    let kept = send(&service, Method::POST, path, kind, &configuration).await;
    assert_eq!(kept.status(), StatusCode::CREATED);
    let warning = kept.headers()["warning"].to_str().unwrap();
    assert!(
        warning.contains("admission webhooks are not called"),
        "{warning}"
    );
    server.close().await;
}

#[tokio::test]
async fn an_update_that_removes_the_last_finalizer_deletes_the_object_unless_it_is_a_dry_run() {
    let server = server().await;
    let service = server.service();
    let path = "/api/v1/namespaces/default/configmaps";
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/a"]);
    request(&service, Method::POST, path, &object).await;
    let path = format!("{path}/a");
    request(&service, Method::DELETE, &path, &Value::Null).await;
    let patch = json!({"metadata": {"finalizers": null}, "data": {"k": "last"}});
    for (query, still_exists) in [("?dryRun=All", true), ("", false)] {
        let target = format!("{path}{query}");
        let (code, updated) = request(&service, Method::PATCH, &target, &patch).await;
        assert_eq!(code, StatusCode::OK);
        assert_eq!(updated["data"]["k"], "last");
        let (code, _) = request(&service, Method::GET, &path, &Value::Null).await;
        assert_eq!(code == StatusCode::OK, still_exists, "{query}");
    }
    server.close().await;
}

/// A definition with two versions, of which one is stored.
fn two_versions(stored: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [version("v1"), version("v2")],
        },
    })
}

#[tokio::test]
async fn objects_of_an_earlier_storage_version_are_served_in_the_requested_one() {
    let server = server().await;
    let service = server.service();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    request(&service, Method::POST, definitions, &two_versions("v1")).await;
    let foos = |version: &str| format!("/apis/example.com/{version}/namespaces/default/foos");
    let foo = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": "x"});
    let (code, _) = request(&service, Method::POST, &foos("v1"), &foo).await;
    assert_eq!(code, StatusCode::CREATED);
    let path = format!("{definitions}/foos.example.com");
    let versions = json!({"spec": {"versions": two_versions("v2")["spec"]["versions"]}});
    let (code, _) = request(&service, Method::PATCH, &path, &versions).await;
    assert_eq!(code, StatusCode::OK);
    for version in ["v2", "v1"] {
        let expected = format!("example.com/{version}");
        let path = format!("{}/a", foos(version));
        let (_, got) = request(&service, Method::GET, &path, &Value::Null).await;
        assert_eq!(got["apiVersion"], *expected);
        let (_, list) = request(&service, Method::GET, &foos(version), &Value::Null).await;
        assert_eq!(list["items"][0]["apiVersion"], *expected);
        let labels = json!({"metadata": {"labels": {"patched": version}}});
        let (code, patched) = request(&service, Method::PATCH, &path, &labels).await;
        assert_eq!(
            (code, &patched["apiVersion"]),
            (StatusCode::OK, &json!(expected))
        );
    }
    server.close().await;
}
