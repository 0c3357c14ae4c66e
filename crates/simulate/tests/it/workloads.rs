//! Workloads of an embedded server become ready, are scaled and are removed.

use std::time::Duration;

use outrigger_apiserver::local::{Local, Patch, Place};
use outrigger_apiserver::server::{self, Server};
use outrigger_simulate::Options;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);

async fn server() -> (Server, Local) {
    let server = Server::open(server::Options::in_memory()).await.unwrap();
    server.run_controllers();
    let local = Local::new(server.service(), "test");
    (server, local)
}

fn place(api_version: &str, plural: &str, name: &str) -> Place {
    Place::all(api_version, plural)
        .within("default")
        .named(name)
}

async fn until(local: &Local, place: &Place, is_wanted: impl Fn(Option<&Value>) -> bool) {
    let waited = tokio::time::timeout(SOON, local.await_condition(place, is_wanted)).await;
    let state = local.get(place).await;
    assert!(matches!(waited, Ok(Ok(()))), "{}: {state:?}", place.path());
}

#[tokio::test]
async fn simulates_the_rollout_scaling_and_deletion_of_a_deployment() {
    let (server, local) = server().await;
    outrigger_simulate::start(
        &server,
        Options {
            delay: Duration::from_millis(20),
            ..Options::default()
        },
    );
    let at = place("apps/v1", "deployments", "web");
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    local.create(&at, &deployment).await.unwrap();
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
    until(&local, &at, has(2)).await;
    let (pods, _) = local
        .list(&place("v1", "pods", ""), "labelSelector=app%3Dweb")
        .await
        .unwrap();
    assert_eq!(pods.len(), 2);
    local
        .patch(&at, Patch::Merge, &json!({"spec": {"replicas": 1}}))
        .await
        .unwrap();
    until(&local, &at, has(1)).await;
    local.delete(&at, &Value::Null).await.unwrap();
    for pod in &pods {
        let name = pod["metadata"]["name"].as_str().unwrap();
        until(&local, &place("v1", "pods", name), |object| {
            object.is_none()
        })
        .await;
    }
    server.close().await;
}
