//! Node ports and cluster IPs of Services that are not stored.

use outrigger_apiserver::loopback::{Client, Patch, ResourcePath};
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

fn services() -> ResourcePath {
    ResourcePath::all("v1", "services").in_namespace("default")
}

async fn server() -> (Server, Client) {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let client = Client::new(server.service(), "test");
    (server, client)
}

fn ports(count: usize) -> Value {
    let port = |number: usize| json!({"name": format!("p{number}"), "port": number + 1});
    (0..count).map(port).collect()
}

fn node_ports(name: &str, count: usize) -> Value {
    json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports(count)}})
}

#[tokio::test]
async fn node_ports_of_rejected_services_are_released() {
    let (server, client) = server().await;
    let rejected = client.create(&services(), &node_ports("big", 2769)).await;
    assert!(rejected.unwrap_err().to_string().contains("range is full"));
    // The range has 2768 ports, so these are all.
    let all = node_ports("all", 2768);
    client.create(&services(), &all).await.unwrap();
    server.close().await;
}

#[tokio::test]
async fn node_ports_of_rejected_updates_are_released() {
    let (server, client) = server().await;
    let small = json!({"metadata": {"name": "small"}, "spec": {"ports": ports(1)}});
    client.create(&services(), &small).await.unwrap();
    let change = json!({"spec": {"type": "NodePort", "ports": ports(2769)}});
    let path = services().named("small");
    let rejected = client.patch(&path, Patch::Merge, &change).await;
    assert!(rejected.unwrap_err().to_string().contains("range is full"));
    let all = node_ports("all", 2768);
    client.create(&services(), &all).await.unwrap();
    server.close().await;
}

#[tokio::test]
async fn a_rejected_health_check_port_releases_node_ports_and_address() {
    let (server, client) = server().await;
    let mut service = node_ports("s", 2768);
    service["spec"]["clusterIP"] = "10.96.7.7".into();
    let mut rejected = service.clone();
    for (key, value) in [
        ("type", json!("LoadBalancer")),
        ("externalTrafficPolicy", json!("Local")),
        ("healthCheckNodePort", json!(1)),
    ] {
        rejected["spec"][key] = value;
    }
    let rejected = client.create(&services(), &rejected).await;
    assert!(rejected.is_err());
    client.create(&services(), &service).await.unwrap();
    server.close().await;
}
