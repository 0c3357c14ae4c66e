//! Services: load balancer addresses, `Endpoints` and `EndpointSlices`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::node;
use super::object::{
    controller_reference, is_active, is_deleting, is_ready, items, label, matches_labels, name,
    namespace, text, uid,
};
use super::plan::{Action, Context, Plan};

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const ENDPOINTS_MANAGER: &str = "endpoint-controller";
/// How many endpoints a slice has at most.
const MAX_ENDPOINTS: usize = 100;

pub(super) fn reconcile(service: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(service) {
        return Plan::none();
    }
    let has_selector = service["spec"]["selector"]
        .as_object()
        .is_some_and(|selector| !selector.is_empty());
    let mut actions = Vec::new();
    if has_selector && text(&service["spec"]["type"]) != "ExternalName" {
        let pods = pods(service, ctx);
        actions.extend(endpoints(service, &pods, ctx));
        actions.extend(slices(service, &pods, ctx));
    }
    let plan = Plan::now(actions);
    let ingress = &service["status"]["loadBalancer"]["ingress"];
    let id = ObjectRef::of("services", service);
    match (
        text(&service["spec"]["type"]) == "LoadBalancer",
        ingress.is_null(),
    ) {
        (true, true) => {
            let status =
                json!({"loadBalancer": {"ingress": [{"ip": address(service), "ipMode": "VIP"}]}});
            plan.and_after("address", ctx.options.delay, [Action::Status(id, status)])
        }
        (false, false) => plan.and_after(
            "address",
            std::time::Duration::ZERO,
            [Action::Status(
                id,
                json!({"loadBalancer": {"ingress": null}}),
            )],
        ),
        _ => plan,
    }
}

/// Deletes endpoints that the simulation created once their service is gone.
pub(super) fn reconcile_endpoints(endpoints: &Value, ctx: &Context<'_>) -> Plan {
    let is_ours = label(endpoints, ENDPOINTS_MANAGED_BY) == ENDPOINTS_MANAGER;
    let service = ObjectRef::new("services", namespace(endpoints), name(endpoints));
    if !is_ours || is_deleting(endpoints) || ctx.cache.get(&service).is_some() {
        return Plan::none();
    }
    Plan::now([Action::Delete(ObjectRef::of("endpoints", endpoints))])
}

/// The pods that the service selects and that have an IP address.
fn pods<'a>(service: &Value, ctx: &Context<'a>) -> Vec<&'a Arc<Value>> {
    let pods = ctx.cache.list("pods", cached_namespace(service, ctx));
    let pods =
        pods.filter(|pod| matches_labels(&service["spec"]["selector"], &pod["metadata"]["labels"]));
    let pods = pods.filter(|pod| !text(&pod["status"]["podIP"]).is_empty() && is_active(pod));
    pods.take(MAX_ENDPOINTS).collect()
}

/// The namespace, borrowed from the cache instead of the service.
fn cached_namespace<'a>(service: &Value, ctx: &Context<'a>) -> &'a str {
    let known = ctx.cache.get(&ObjectRef::of("services", service));
    known.map_or("-", |known| namespace(known))
}

/// The target ports of the service in a pod.
fn ports(service: &Value, pod: Option<&Value>) -> Vec<Value> {
    let ports = items(&service["spec"]["ports"]).iter();
    let ports = ports.filter_map(|port| {
        let target = &port["targetPort"];
        let number = match target.as_str() {
            Some(wanted) => named_port(pod?, wanted)?,
            None => target.as_i64().or_else(|| port["port"].as_i64())?,
        };
        let mut endpoint = json!({"port": number, "protocol": port["protocol"]});
        let name = text(&port["name"]);
        if !name.is_empty() {
            endpoint["name"] = name.into();
        }
        if let Some(protocol) = port.get("appProtocol") {
            endpoint["appProtocol"] = protocol.clone();
        }
        Some(endpoint)
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

fn is_serving(service: &Value, pod: &Value) -> bool {
    is_ready(pod) || service["spec"]["publishNotReadyAddresses"] == true
}

/// Pods by the ports that the service has in them: named ports may differ.
fn by_ports<'a>(
    service: &Value,
    pods: &[&'a Arc<Value>],
) -> Vec<(Vec<Value>, Vec<&'a Arc<Value>>)> {
    let mut groups: Vec<(Vec<Value>, Vec<&Arc<Value>>)> = Vec::new();
    for pod in pods {
        let ports = ports(service, Some(pod));
        match groups.iter_mut().find(|(known, _)| *known == ports) {
            Some((_, pods)) => pods.push(pod),
            None => groups.push((ports, vec![pod])),
        }
    }
    groups
}

fn endpoints(service: &Value, pods: &[&Arc<Value>], ctx: &Context<'_>) -> Option<Action> {
    let subsets = by_ports(service, pods)
        .into_iter()
        .map(|(ports, pods)| subset(service, ports, &pods));
    let subsets: Vec<Value> = subsets.collect();
    let subsets = if subsets.is_empty() {
        Value::Null
    } else {
        subsets.into()
    };
    let id = ObjectRef::new("endpoints", namespace(service), name(service));
    match ctx.cache.get(&id) {
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

fn subset(service: &Value, ports: Vec<Value>, pods: &[&Arc<Value>]) -> Value {
    let address = |pod: &Value| json!({"ip": pod["status"]["podIP"], "nodeName": node::NAME, "targetRef": target(pod)});
    let mut subset = Map::new();
    for (key, is_ready) in [("addresses", true), ("notReadyAddresses", false)] {
        let pods = pods
            .iter()
            .filter(|pod| is_serving(service, pod) == is_ready);
        let addresses: Vec<Value> = pods.map(|pod| address(pod)).collect();
        if !addresses.is_empty() {
            subset.insert(key.to_owned(), addresses.into());
        }
    }
    if !ports.is_empty() {
        subset.insert("ports".to_owned(), ports.into());
    }
    subset.into()
}

/// One slice for each set of ports, and one without endpoints if there are no pods.
fn slices(service: &Value, pods: &[&Arc<Value>], ctx: &Context<'_>) -> Vec<Action> {
    let mut groups = by_ports(service, pods);
    if groups.is_empty() {
        groups.push((ports(service, None), Vec::new()));
    }
    let mut known = ctx.cache.controlled("endpointslices", uid(service));
    let mut actions = Vec::new();
    for (ports, pods) in groups {
        let endpoints: Vec<Value> = pods.iter().map(|pod| endpoint(service, pod)).collect();
        // The slice with these ports, or any other that is left if there is only one.
        let same = known
            .iter()
            .position(|slice| same_ports(&slice["ports"], &ports));
        let position = same.or_else(|| (known.len() == 1).then_some(0));
        let Some(position) = position else {
            actions.push(new_slice(service, &endpoints, &ports));
            continue;
        };
        let old = known.remove(position);
        let is_same = items(&old["endpoints"]) == endpoints
            && (endpoints.is_empty() || same_ports(&old["ports"], &ports));
        if !is_same {
            let change = json!({"endpoints": endpoints, "ports": ports});
            actions.push(Action::Patch(ObjectRef::of("endpointslices", old), change));
        }
    }
    let surplus = known.into_iter().filter(|slice| !is_deleting(slice));
    actions.extend(surplus.map(|slice| Action::Delete(ObjectRef::of("endpointslices", slice))));
    actions
}

fn endpoint(service: &Value, pod: &Value) -> Value {
    let is_ready = is_serving(service, pod);
    json!({
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": is_ready, "serving": is_ready, "terminating": false},
        "nodeName": node::NAME,
        "targetRef": target(pod),
    })
}

fn new_slice(service: &Value, endpoints: &[Value], ports: &[Value]) -> Action {
    let mut labels = service["metadata"]["labels"].clone();
    labels[SERVICE_NAME] = name(service).into();
    labels[MANAGED_BY] = "endpointslice-controller.k8s.io".into();
    Action::Create(
        "endpointslices",
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": format!("{}-", name(service)), "namespace": namespace(service), "labels": labels,
                "ownerReferences": controller_reference(service, "v1", "Service"),
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": ports,
        }),
    )
}

/// The server defaults the name of a port to the empty string.
fn same_ports(old: &Value, new: &[Value]) -> bool {
    let old = items(old);
    let keys = ["name", "port", "protocol", "appProtocol"];
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            keys.iter()
                .all(|key| old[*key] == new[*key] || (old[*key] == "" && new[*key].is_null()))
        })
}

/// An address of TEST-NET-2, derived from the uid.
fn address(service: &Value) -> String {
    let sum = uid(service)
        .bytes()
        .fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    format!("198.51.100.{}", sum.clamp(1, 254))
}
