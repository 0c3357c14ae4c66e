//! Bootstrap: serves stored definitions, loads allocated addresses and creates the objects that every cluster has.

use std::net::SocketAddr;
use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::fields::as_text;
use outrigger_store::{EncodedObject, MAX_OPERATIONS, Operation, Resource, Scope, Transaction};
use serde_json::{Value, json};

use crate::auth::bootstrap_objects;
use crate::controllers::{api_services, custom_resource_definitions, flow_control, namespaces};
use crate::flow_control::GROUP as FLOW_CONTROL;
use crate::server::State;
use crate::verbs::{RandomError, store_failure, write_value};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The address of the Service `kubernetes`, the first of the network.
const SERVICE_ADDRESS: &str = "10.96.0.1";

/// Loads definitions and allocated addresses from the store.
pub(crate) fn load(state: &State) {
    let snapshot = state.store.snapshot();
    if let Ok(scope) = Scope::of("apiextensions.k8s.io", "customresourcedefinitions") {
        for definition in snapshot.list(&scope) {
            custom_resource_definitions::install(state, definition);
        }
    }
    if let Ok(scope) = Scope::of("", "services") {
        let mut pool = state.services();
        for service in snapshot.values(&scope) {
            pool.add(&service);
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
    let service = kubernetes_service(state, SERVICE_ADDRESS)?;
    state.services().add(&service);
    missing.add("", "services", &service)?;
    for (group, plural, object) in system_objects(state)? {
        missing.add(group, plural, &object)?;
    }
    for mut object in bootstrap_objects() {
        let plural = format!("{}s", as_text(&object["kind"]).to_ascii_lowercase());
        let (namespace, name) = names(&object);
        let metadata = namespaces::metadata(state, &namespace, &name)?;
        if let (Value::Object(own), Value::Object(made)) = (&mut object["metadata"], metadata) {
            own.extend(made);
        }
        missing.add("rbac.authorization.k8s.io", &plural, &object)?;
    }
    for (plural, object) in flow_control::objects(state)? {
        missing.add(FLOW_CONTROL, plural, &object)?;
    }
    for object in api_services::objects(state)? {
        missing.add("apiregistration.k8s.io", "apiservices", &object)?;
    }
    missing.write().await
}

/// Creates objects of a group and plural unless they exist.
pub(crate) async fn create_missing<'o>(
    state: &State,
    objects: impl Iterator<Item = (&'o str, &'o str, &'o Value)>,
) -> Result<(), Status> {
    let mut missing = Missing {
        state,
        operations: Vec::new(),
    };
    for (group, plural, object) in objects {
        missing.add(group, plural, object)?;
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

fn names(object: &Value) -> (String, String) {
    let metadata = &object["metadata"];
    (
        as_text(&metadata["namespace"]).to_owned(),
        as_text(&metadata["name"]).to_owned(),
    )
}

/// The network of Services, the address of the first one, and the priority classes of the system.
fn system_objects(state: &State) -> Result<Vec<(&'static str, &'static str, Value)>, RandomError> {
    let network = json!({
        "kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1",
        "metadata": namespaces::metadata(state, "", "kubernetes")?,
        "spec": {"cidrs": ["10.96.0.0/16"]},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": state.now_text(), "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    });
    let mut address = json!({
        "kind": "IPAddress", "apiVersion": "networking.k8s.io/v1",
        "metadata": namespaces::metadata(state, "", SERVICE_ADDRESS)?,
        "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "kubernetes"}},
    });
    address["metadata"]["labels"] = json!({
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    });
    let mut objects = vec![
        ("networking.k8s.io", "servicecidrs", network),
        ("networking.k8s.io", "ipaddresses", address),
    ];
    for (name, value, description) in PRIORITY_CLASSES {
        let mut class = json!({
            "kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1",
            "metadata": namespaces::metadata(state, "", name)?,
            "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
        });
        class["metadata"]["generation"] = 1.into();
        objects.push(("scheduling.k8s.io", "priorityclasses", class));
    }
    Ok(objects)
}

const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Publishes the address of the server as the endpoints of the Service `kubernetes`.
pub(crate) async fn publish_endpoints(state: Arc<State>, address: SocketAddr) {
    let published = async {
        for (group, plural, object) in kubernetes_endpoints(&state, address)? {
            let resource = Resource::new(group, plural).map_err(Status::internal)?;
            let key = resource.key("default", "kubernetes");
            let key = key.map_err(Status::internal)?;
            let old = state.store.get(&key);
            let written = write_value(&state, key, &object, old.as_deref()).await;
            written.map_err(|error| store_failure(&error))?;
        }
        Ok::<_, Status>(())
    };
    if let Err(status) = published.await {
        tracing::error!(error = %status.message, "failed to publish the endpoints of the server");
    }
}

fn kubernetes_endpoints(
    state: &State,
    address: SocketAddr,
) -> Result<[(&'static str, &'static str, Value); 2], RandomError> {
    let (ip, port) = (address.ip().to_string(), address.port());
    let metadata = |label: &str, value: &str| {
        let mut metadata = namespaces::metadata(state, "default", "kubernetes")?;
        metadata["labels"] = json!({label: value});
        Ok::<_, RandomError>(metadata)
    };
    let port = json!({"name": "https", "port": port, "protocol": "TCP"});
    let endpoints = json!({
        "kind": "Endpoints", "apiVersion": "v1",
        "metadata": metadata("endpointslice.kubernetes.io/skip-mirror", "true")?,
        "subsets": [{"addresses": [{"ip": ip}], "ports": [port]}],
    });
    let mut slice = json!({
        "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
        "metadata": metadata("kubernetes.io/service-name", "kubernetes")?,
        "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [ip], "conditions": {"ready": true}}],
        "ports": [port],
    });
    slice["metadata"]["generation"] = 1.into();
    Ok([
        ("", "endpoints", endpoints),
        ("discovery.k8s.io", "endpointslices", slice),
    ])
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
