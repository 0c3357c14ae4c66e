//! Bootstrap: serves stored definitions, loads allocated addresses and creates the objects that every cluster has.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_store::{EncodedObject, MAX_OPERATIONS, Operation, Resource, Scope, Transaction};
use serde_json::{Value, json};

use crate::auth::bootstrap_objects;
use crate::controllers::{custom_resource_definitions, namespaces};
use crate::server::State;
use crate::verbs::{RandomError, store_failure};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Loads definitions and allocated addresses from the store.
pub(crate) fn load(state: &State) {
    let snapshot = state.store.snapshot();
    let scope = |group: &str, plural: &str| {
        let resource = Resource::new(group, plural).ok()?;
        Some(Scope::resource(&resource))
    };
    if let Some(scope) = scope("apiextensions.k8s.io", "customresourcedefinitions") {
        for definition in snapshot.list(&scope) {
            custom_resource_definitions::install(state, definition);
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

/// Creates the objects that every cluster has, unless they exist. One transaction keeps the start fast.
pub(crate) async fn create_objects(state: &Arc<State>) -> Result<(), Status> {
    let mut missing = Missing {
        state,
        operations: Vec::new(),
    };
    for name in NAMESPACES {
        let mut namespace = json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": namespaces::metadata(state, "", name)?,
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        namespace["metadata"]["labels"] = json!({"kubernetes.io/metadata.name": name});
        missing.add("", "namespaces", &namespace)?;
        for (plural, object) in namespaces::default_objects(state, name)? {
            missing.add("", plural, &object)?;
        }
    }
    let service = kubernetes_service(state, "10.96.0.1")?;
    state.services().add(&service);
    missing.add("", "services", &service)?;
    for mut object in bootstrap_objects() {
        let plural = format!("{}s", text(&object["kind"]).to_ascii_lowercase());
        let (namespace, name) = names(&object);
        let metadata = namespaces::metadata(state, &namespace, &name)?;
        if let (Value::Object(own), Value::Object(made)) = (&mut object["metadata"], metadata) {
            own.extend(made);
        }
        missing.add("rbac.authorization.k8s.io", &plural, &object)?;
    }
    missing.write().await
}

/// Objects that are still to be created.
struct Missing<'s> {
    state: &'s State,
    operations: Vec<Operation>,
}

impl Missing<'_> {
    fn add(&mut self, group: &str, plural: &str, object: &Value) -> Result<(), Status> {
        let (namespace, name) = names(object);
        let key = Resource::new(group, plural).and_then(|resource| resource.key(&namespace, &name));
        let key = key.map_err(Status::internal)?;
        if self.state.store.get(&key).is_none() {
            let encoded = EncodedObject::new(object).map_err(Status::internal)?;
            self.operations.push(Operation::Create { key, encoded });
        }
        Ok(())
    }

    async fn write(mut self) -> Result<(), Status> {
        while !self.operations.is_empty() {
            let rest = self
                .operations
                .split_off(self.operations.len().min(MAX_OPERATIONS));
            let operations = std::mem::replace(&mut self.operations, rest);
            let written = self.state.store.write(Transaction::new(operations)).await;
            written.map_err(|error| store_failure(&error))?;
        }
        Ok(())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn names(object: &Value) -> (String, String) {
    let metadata = &object["metadata"];
    (
        text(&metadata["namespace"]).to_owned(),
        text(&metadata["name"]).to_owned(),
    )
}

fn kubernetes_service(state: &State, address: &str) -> Result<Value, RandomError> {
    let mut metadata = namespaces::metadata(state, "default", "kubernetes")?;
    metadata["labels"] = json!({"component": "apiserver", "provider": "kubernetes"});
    Ok(json!({
        "kind": "Service", "apiVersion": "v1", "metadata": metadata,
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
            "clusterIP": address, "clusterIPs": [address], "type": "ClusterIP",
            "sessionAffinity": "None", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }))
}
