//! Services: addresses for load balancers, and the pods behind each as `Endpoints` and `EndpointSlices`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::node;
use super::object::{
    controlled_by, has_labels, is_active, is_deleting, is_ready, items, label, name, namespace,
    text, uid,
};
use super::step::{Action, Step, View};
use super::world::Id;

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const ENDPOINTS_MANAGER: &str = "endpoint-controller";
/// Most addresses in a slice.
const MOST: usize = 100;

pub(super) fn next(service: &Value, view: &View<'_>) -> Step {
    if is_deleting(service) {
        return Step::nothing();
    }
    let has_selector = service["spec"]["selector"]
        .as_object()
        .is_some_and(|selector| !selector.is_empty());
    let mut actions = Vec::new();
    if has_selector && text(&service["spec"]["type"]) != "ExternalName" {
        let pods = pods(service, view);
        actions.extend(endpoints(service, &pods, view));
        actions.extend(slice(service, &pods, view));
    }
    let step = Step::now(actions);
    let ingress = &service["status"]["loadBalancer"]["ingress"];
    let id = Id::of("services", service);
    match (
        text(&service["spec"]["type"]) == "LoadBalancer",
        ingress.is_null(),
    ) {
        (true, true) => {
            let status =
                json!({"loadBalancer": {"ingress": [{"ip": address(service), "ipMode": "VIP"}]}});
            step.and_later("address", view.options.delay, [Action::Status(id, status)])
        }
        (false, false) => step.and_later(
            "address",
            std::time::Duration::ZERO,
            [Action::Status(
                id,
                json!({"loadBalancer": {"ingress": null}}),
            )],
        ),
        _ => step,
    }
}

/// Endpoints that we have made go with their service.
pub(super) fn endpoints_next(endpoints: &Value, view: &View<'_>) -> Step {
    let is_ours = label(endpoints, ENDPOINTS_MANAGED_BY) == ENDPOINTS_MANAGER;
    let service = Id::new("services", namespace(endpoints), name(endpoints));
    if !is_ours || is_deleting(endpoints) || view.world.get(&service).is_some() {
        return Step::nothing();
    }
    Step::now([Action::Delete(Id::of("endpoints", endpoints))])
}

/// The pods behind the service that have an address.
fn pods<'a>(service: &Value, view: &View<'a>) -> Vec<&'a Arc<Value>> {
    let pods = view.world.list("pods", text_of_namespace(service, view));
    let pods =
        pods.filter(|pod| has_labels(&service["spec"]["selector"], &pod["metadata"]["labels"]));
    let pods = pods.filter(|pod| !text(&pod["status"]["podIP"]).is_empty() && is_active(pod));
    pods.take(MOST).collect()
}

/// The namespace as it is known to the world, which outlives the service.
fn text_of_namespace<'a>(service: &Value, view: &View<'a>) -> &'a str {
    let known = view.world.get(&Id::of("services", service));
    known.map_or("-", |known| namespace(known))
}

/// The ports of the service as a pod has them.
fn ports(service: &Value, pod: Option<&Value>) -> Vec<Value> {
    let ports = items(&service["spec"]["ports"]).iter();
    let ports = ports.filter_map(|port| {
        let target = &port["targetPort"];
        let number = match target.as_str() {
            Some(wanted) => named_port(pod?, wanted)?,
            None => target.as_i64().or_else(|| port["port"].as_i64())?,
        };
        let mut made = json!({"port": number, "protocol": port["protocol"]});
        let name = text(&port["name"]);
        if !name.is_empty() {
            made["name"] = name.into();
        }
        if let Some(protocol) = port.get("appProtocol") {
            made["appProtocol"] = protocol.clone();
        }
        Some(made)
    });
    ports.collect()
}

fn named_port(pod: &Value, wanted: &str) -> Option<i64> {
    let containers = items(&pod["spec"]["containers"]).iter();
    let mut ports = containers.flat_map(|container| items(&container["ports"]));
    ports.find(|port| port["name"] == wanted)?["containerPort"].as_i64()
}

fn target(pod: &Value) -> Value {
    json!({"kind": "Pod", "name": name(pod), "namespace": namespace(pod), "uid": uid(pod)})
}

fn counts(service: &Value, pod: &Value) -> bool {
    is_ready(pod) || service["spec"]["publishNotReadyAddresses"] == true
}

fn endpoints(service: &Value, pods: &[&Arc<Value>], view: &View<'_>) -> Option<Action> {
    let address = |pod: &Value| json!({"ip": pod["status"]["podIP"], "nodeName": node::NAME, "targetRef": target(pod)});
    let mut subset = Map::new();
    for (key, is_ready) in [("addresses", true), ("notReadyAddresses", false)] {
        let pods = pods.iter().filter(|pod| counts(service, pod) == is_ready);
        let addresses: Vec<Value> = pods.map(|pod| address(pod)).collect();
        if !addresses.is_empty() {
            subset.insert(key.to_owned(), addresses.into());
        }
    }
    let subsets = if subset.is_empty() {
        Value::Null
    } else {
        let ports = ports(service, pods.first().map(|pod| &***pod));
        if !ports.is_empty() {
            subset.insert("ports".to_owned(), ports.into());
        }
        json!([subset])
    };
    let id = Id::new("endpoints", namespace(service), name(service));
    match view.world.get(&id) {
        Some(old) if old.get("subsets").unwrap_or(&Value::Null) == &subsets => None,
        Some(_) => Some(Action::Patch(id, json!({"subsets": subsets}))),
        None => {
            let mut labels = service["metadata"]["labels"].clone();
            labels[ENDPOINTS_MANAGED_BY] = ENDPOINTS_MANAGER.into();
            Some(Action::Create(
                "endpoints",
                json!({
                    "apiVersion": "v1",
                    "kind": "Endpoints",
                    "metadata": {
                        "name": name(service), "namespace": namespace(service), "labels": labels,
                    },
                    "subsets": subsets,
                }),
            ))
        }
    }
}

fn slice(service: &Value, pods: &[&Arc<Value>], view: &View<'_>) -> Option<Action> {
    let endpoints = pods.iter().map(|pod| {
        let is_ready = counts(service, pod);
        json!({
            "addresses": [pod["status"]["podIP"]],
            "conditions": {"ready": is_ready, "serving": is_ready, "terminating": false},
            "nodeName": node::NAME,
            "targetRef": target(pod),
        })
    });
    let endpoints: Vec<Value> = endpoints.collect();
    let ports = ports(service, pods.first().map(|pod| &***pod));
    let known = view
        .world
        .controlled("endpointslices", uid(service))
        .into_iter()
        .next();
    if let Some(old) = known {
        let is_same = items(&old["endpoints"]) == endpoints
            && (endpoints.is_empty() || same_ports(&old["ports"], &ports));
        let change = json!({"endpoints": endpoints, "ports": ports});
        return (!is_same).then(|| Action::Patch(Id::of("endpointslices", old), change));
    }
    let mut labels = service["metadata"]["labels"].clone();
    labels[SERVICE_NAME] = name(service).into();
    labels[MANAGED_BY] = "endpointslice-controller.k8s.io".into();
    Some(Action::Create(
        "endpointslices",
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": format!("{}-", name(service)), "namespace": namespace(service), "labels": labels,
                "ownerReferences": controlled_by(service, "v1", "Service"),
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": ports,
        }),
    ))
}

/// The server gives ports without a name an empty one.
fn same_ports(old: &Value, new: &[Value]) -> bool {
    let old = items(old);
    let keys = ["name", "port", "protocol", "appProtocol"];
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            keys.iter()
                .all(|key| old[*key] == new[*key] || (old[*key] == "" && new[*key].is_null()))
        })
}

/// An address for documentation; the same for the same service.
fn address(service: &Value) -> String {
    let sum = uid(service)
        .bytes()
        .fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    format!("198.51.100.{}", sum.clamp(1, 254))
}
