//! What a server does before it answers: kinds of stored definitions, addresses in use, objects of every cluster.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::lifecycle::{definitions, namespaces};
use crate::server::State;
use crate::status::Status;
use crate::store::{Resource, Scope, WriteError};
use crate::verbs::{store_failure, write_value};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Reads from the store what is kept in memory beside it.
pub(crate) fn load(state: &State) {
    let snapshot = state.store.snapshot();
    let scope = |group: &str, plural: &str| {
        let resource = Resource::new(group, plural).ok()?;
        Some(Scope::resource(&resource))
    };
    if let Some(scope) = scope("apiextensions.k8s.io", "customresourcedefinitions") {
        for definition in snapshot.list(&scope) {
            definitions::install(state, definition);
        }
    }
    if let Some(scope) = scope("", "services") {
        let mut pool = state.services();
        for service in snapshot.list(&scope) {
            if let Ok(service) = serde_json::from_slice(service.bytes()) {
                pool.add(&service);
            }
        }
    }
}

/// Writes what every cluster has, unless it is there.
pub(crate) async fn create_objects(state: &Arc<State>) -> Result<(), Status> {
    for name in NAMESPACES {
        let mut namespace = json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": namespaces::metadata(state, "", name),
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        namespace["metadata"]["labels"] = json!({"kubernetes.io/metadata.name": name});
        create(state, "namespaces", "", name, &namespace).await?;
        namespaces::fill(state, name).await;
    }
    let address = "10.96.0.1";
    let service = kubernetes_service(state, address);
    create(state, "services", "default", "kubernetes", &service).await?;
    state.services().add(&service);
    Ok(())
}

fn kubernetes_service(state: &State, address: &str) -> Value {
    let mut metadata = namespaces::metadata(state, "default", "kubernetes");
    metadata["labels"] = json!({"component": "apiserver", "provider": "kubernetes"});
    json!({
        "kind": "Service", "apiVersion": "v1", "metadata": metadata,
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            "clusterIP": address, "clusterIPs": [address], "type": "ClusterIP",
            "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    })
}

async fn create(
    state: &State,
    plural: &str,
    namespace: &str,
    name: &str,
    value: &Value,
) -> Result<(), Status> {
    let key = Resource::new("", plural).and_then(|resource| resource.key(namespace, name));
    let key = key.map_err(Status::internal)?;
    if state.store.get(&key).is_some() {
        return Ok(());
    }
    match write_value(state, key, value, None).await {
        Ok(_) | Err(WriteError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(store_failure(&error)),
    }
}
