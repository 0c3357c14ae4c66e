//! `APIServices` of what the server serves.

use std::collections::BTreeSet;
use std::time::Duration;

use outrigger_apiserver::loopback::{Client, ResourcePath};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

fn path(name: &str) -> ResourcePath {
    ResourcePath::all("apiregistration.k8s.io/v1", "apiservices").named(name)
}

fn definitions() -> ResourcePath {
    ResourcePath::all("apiextensions.k8s.io/v1", "customresourcedefinitions")
}

fn definition(plural: &str, versions: &[&str]) -> Value {
    let version = |name: &&str| {
        json!({
            "name": name, "served": true, "storage": name == versions.first().unwrap(),
            "schema": {"openAPIV3Schema": {"type": "object"}},
        })
    };
    let versions: Vec<_> = versions.iter().map(version).collect();
    json!({
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "singular": plural, "kind": plural.to_uppercase()},
        },
    })
}

fn is_available(service: Option<&Value>) -> bool {
    let is_local = |service: &Value| {
        let condition = &service["status"]["conditions"][0];
        condition["type"] == "Available"
            && condition["status"] == "True"
            && condition["reason"] == "Local"
    };
    service.is_some_and(is_local)
}

async fn until(client: &Client, path: &ResourcePath, is_met: impl Fn(Option<&Value>) -> bool) {
    let waited = client.await_condition(path, is_met);
    let waited = tokio::time::timeout(SOON, waited).await;
    assert!(matches!(waited, Ok(Ok(()))), "{waited:?}");
}

#[tokio::test]
async fn every_built_in_version_has_an_api_service() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let client = Client::new(server.service(), "test");
    let (services, _) = client.list(&path(""), "").await.unwrap();
    let name = |service: &Value| service["metadata"]["name"].as_str().unwrap().to_owned();
    let names: BTreeSet<_> = services.iter().map(name).collect();
    for name in ["v1.", "v1.apps", "v1.autoscaling", "v2.autoscaling"] {
        assert!(names.contains(name), "{names:?}");
    }
    assert!(!names.contains("v1.apiregistration.k8s.io"));
    assert!(services.iter().all(|service| is_available(Some(service))));
    server.close().await;
}

#[tokio::test]
async fn api_services_of_definitions_come_and_go_with_them() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let client = Client::new(server.service(), "test");
    for (plural, versions) in [("as", ["v1", "v2"]), ("bs", ["v2", "v3"])] {
        let definition = definition(plural, &versions);
        client.create(&definitions(), &definition).await.unwrap();
    }
    for version in ["v1", "v2", "v3"] {
        let path = path(&format!("{version}.example.com"));
        until(&client, &path, is_available).await;
    }
    // One that is deleted by hand is registered again.
    let path_of = |version: &str| path(&format!("{version}.example.com"));
    let old = client.get(&path_of("v3")).await.unwrap();
    client.delete(&path_of("v3"), &Value::Null).await.unwrap();
    let is_new = |service: Option<&Value>| {
        service.is_some_and(|new| new["metadata"]["uid"] != old["metadata"]["uid"])
    };
    until(&client, &path_of("v3"), is_new).await;
    let name = definitions().named("as.example.com");
    client.delete(&name, &Value::Null).await.unwrap();
    until(&client, &path_of("v1"), |service| service.is_none()).await;
    assert!(is_available(client.get(&path_of("v2")).await.ok().as_ref()));
    server.close().await;
}

#[tokio::test]
async fn a_local_api_service_of_a_user_is_available_and_stays() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let client = Client::new(server.service(), "test");
    let own = json!({
        "metadata": {"name": "v1.own.example.com"},
        "spec": {
            "group": "own.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        },
    });
    client.create(&path(""), &own).await.unwrap();
    let path = path("v1.own.example.com");
    until(&client, &path, is_available).await;
    server.close().await;
}
