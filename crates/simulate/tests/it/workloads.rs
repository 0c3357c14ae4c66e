//! Workloads of an embedded server become ready, are scaled and are removed.

use std::time::Duration;

use outrigger_apiserver::loopback::{Client, Patch, ResourcePath};
use outrigger_apiserver::server::{self, Server};
use outrigger_simulate::Options;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

async fn server() -> (Server, Client) {
    let server = Server::open(server::Options::in_memory()).await.unwrap();
    server.run_controllers();
    let client = Client::new(server.service(), "test");
    (server, client)
}

fn path(api_version: &str, plural: &str, name: &str) -> ResourcePath {
    ResourcePath::all(api_version, plural)
        .in_namespace("default")
        .named(name)
}

async fn until(client: &Client, path: &ResourcePath, is_wanted: impl Fn(Option<&Value>) -> bool) {
    let waited = tokio::time::timeout(SOON, client.await_condition(path, is_wanted)).await;
    let state = client.get(path).await;
    assert!(matches!(waited, Ok(Ok(()))), "{}: {state:?}", path.path());
}

#[tokio::test]
async fn simulates_the_rollout_scaling_and_deletion_of_a_deployment() {
    let (server, client) = server().await;
    outrigger_simulate::start(
        &server,
        Options {
            delay: Duration::from_millis(20),
            ..Options::default()
        },
    );
    let at = path("apps/v1", "deployments", "web");
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    client.create(&at, &deployment).await.unwrap();
    let has = |count: i64| {
        move |object: Option<&Value>| {
            object.is_some_and(|object| {
                let status = &object["status"];
                status["availableReplicas"] == count
                    && status["replicas"] == count
                    && status["observedGeneration"] == object["metadata"]["generation"]
            })
        }
    };
    until(&client, &at, has(2)).await;
    let (pods, _) = client
        .list(&path("v1", "pods", ""), "labelSelector=app%3Dweb")
        .await
        .unwrap();
    assert_eq!(pods.len(), 2);
    client
        .patch(&at, Patch::Merge, &json!({"spec": {"replicas": 1}}))
        .await
        .unwrap();
    until(&client, &at, has(1)).await;
    client.delete(&at, &Value::Null).await.unwrap();
    for pod in &pods {
        let name = pod["metadata"]["name"].as_str().unwrap();
        until(&client, &path("v1", "pods", name), |object| {
            object.is_none()
        })
        .await;
    }
    server.close().await;
}
