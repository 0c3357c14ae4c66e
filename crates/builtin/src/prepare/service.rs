//! Addresses and ports of Services: which a Service needs, which it keeps, and where free ones come from.

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use crate::fields::{object_mut, set_or_remove};

mod pool;

pub use pool::Pool;

const SERVICE: GroupKind<'static> = GroupKind::new("", "Service");
const SPEC: Path<'static> = Path::root("spec");

/// Hands out addresses and ports. What is taken for a Service whose write then fails is given back by
/// [`Allocator::release`].
pub trait Allocator {
    /// A free address.
    fn next_address(&mut self) -> Result<String, String>;
    /// Takes an address that a client asks for.
    fn take_address(&mut self, address: &str) -> Result<(), String>;
    /// A free port of the nodes.
    fn next_port(&mut self) -> Result<i64, String>;
    /// Takes a port that a client asks for.
    fn take_port(&mut self, port: i64) -> Result<(), String>;
    /// Gives back an address.
    fn release_address(&mut self, address: &str);
    /// Gives back a port.
    fn release_port(&mut self, port: i64);

    /// Gives back all that a Service has and another, its successor, has not.
    fn release(&mut self, service: &Value, successor: Option<&Value>) {
        let kept_addresses = successor.map(addresses).unwrap_or_default();
        for address in addresses(service) {
            if !kept_addresses.contains(&address) {
                self.release_address(&address);
            }
        }
        let kept_ports = successor.map(ports).unwrap_or_default();
        for port in ports(service) {
            if !kept_ports.contains(&port) {
                self.release_port(port);
            }
        }
    }
}

/// The addresses of a Service.
pub fn addresses(service: &Value) -> Vec<String> {
    let addresses = service["spec"]["clusterIPs"].as_array();
    let addresses = addresses.into_iter().flatten().filter_map(Value::as_str);
    addresses
        .filter(|address| !matches!(*address, "" | "None"))
        .map(str::to_owned)
        .collect()
}

/// The ports of nodes that a Service has.
pub fn ports(service: &Value) -> Vec<i64> {
    let ports = service["spec"]["ports"].as_array();
    let ports = ports.into_iter().flatten().map(|port| &port["nodePort"]);
    let check = &service["spec"]["healthCheckNodePort"];
    let mut ports: Vec<_> = ports
        .chain([check])
        .filter_map(Value::as_i64)
        .filter(|port| *port != 0)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Gives a Service that is created, or that replaces another, the addresses and ports that it needs.
///
/// If it fails the caller gives back what the Service has by then and its predecessor has not.
pub fn allocate(
    service: &mut Value,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Result<(), Status> {
    let name = service["metadata"]["name"].as_str().unwrap_or_default();
    let name = name.to_owned();
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if let Some(old) = old {
        take_over(spec, &old["spec"]);
    }
    let invalid = |error: Error| Status::invalid(SERVICE, &name, &[error]);
    families(spec).map_err(invalid)?;
    cluster_addresses(spec, old, allocator).map_err(invalid)?;
    node_ports(spec, old, allocator).map_err(invalid)?;
    health_check_port(spec, old, allocator)
}

fn text<'a>(spec: &'a Map<String, Value>, key: &str) -> &'a str {
    spec.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn needs_address(spec: &Map<String, Value>) -> bool {
    text(spec, "type") != "ExternalName"
}

fn needs_ports(spec: &Map<String, Value>) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn needs_check(spec: &Map<String, Value>) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// A client that leaves out what the server has set means to leave it as it is.
fn take_over(spec: &mut Map<String, Value>, old: &Value) {
    let Value::Object(old) = old else {
        return;
    };
    if needs_address(old) && needs_address(spec) {
        if text(spec, "clusterIP").is_empty() {
            set_or_remove(spec, "clusterIP", old.get("clusterIP").cloned());
        }
        let is_same = spec.get("clusterIP") == old.get("clusterIP");
        if is_same && !spec.contains_key("clusterIPs") {
            set_or_remove(spec, "clusterIPs", old.get("clusterIPs").cloned());
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if !spec.contains_key(key) {
                set_or_remove(spec, key, old.get(key).cloned());
            }
        }
    }
    if needs_ports(old) && needs_ports(spec) {
        take_over_ports(spec, old);
    }
    if needs_check(old) && needs_check(spec) {
        let port = old.get("healthCheckNodePort").cloned();
        if let Some(port) = port {
            spec.entry("healthCheckNodePort").or_insert(port);
        }
    }
}

fn take_over_ports(spec: &mut Map<String, Value>, old: &Map<String, Value>) {
    let old_ports = old.get("ports").and_then(Value::as_array);
    let old_ports = old_ports.map_or(&[][..], Vec::as_slice);
    let Some(new_ports) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return;
    };
    let used: Vec<_> = new_ports
        .iter()
        .map(|port| port["nodePort"].clone())
        .filter(Value::is_number)
        .collect();
    for port in new_ports {
        if port["nodePort"].is_number() {
            continue;
        }
        let namesake = old_ports.iter().find(|old| old["name"] == port["name"]);
        if let (Some(namesake), Value::Object(port)) = (namesake, port)
            && namesake["nodePort"].is_number()
            && !used.contains(&namesake["nodePort"])
        {
            port.insert("nodePort".to_owned(), namesake["nodePort"].clone());
        }
    }
}

/// Which families of addresses a Service has. This server has one, so that two are only ever named, never served.
fn families(spec: &mut Map<String, Value>) -> Result<(), Error> {
    if !needs_address(spec) {
        return Ok(());
    }
    let has_selector = spec
        .get("selector")
        .and_then(Value::as_object)
        .is_some_and(|selector| !selector.is_empty());
    let is_open = text(spec, "clusterIP") == "None" && !has_selector;
    let policy = if is_open {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    spec.entry("ipFamilyPolicy")
        .or_insert_with(|| json!(policy));
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    let families = spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    if let Some(families) = families.as_array_mut()
        && is_open
        && !is_single
        && families.len() < 2
    {
        let other = if families.first() == Some(&json!("IPv4")) {
            "IPv6"
        } else {
            "IPv4"
        };
        families.push(other.into());
    }
    if is_open {
        return Ok(());
    }
    if text(spec, "ipFamilyPolicy") == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        let place = SPEC.child("ipFamilyPolicy");
        return Err(Error::invalid(&place, "RequireDualStack", detail));
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array);
    let place = SPEC.child("ipFamilies");
    let foreign = families.into_iter().flatten().enumerate();
    match foreign.into_iter().find(|(_, family)| **family != "IPv4") {
        Some((index, family)) => Err(Error::invalid(
            &place.index(index),
            family,
            "not configured on this cluster",
        )),
        None => Ok(()),
    }
}

fn cluster_addresses(
    spec: &mut Map<String, Value>,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Result<(), Error> {
    if !needs_address(spec) {
        return Ok(());
    }
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && !spec.contains_key("clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    let has_already = old.is_some_and(|old| addresses(old).contains(&address));
    if address == "None" || has_already {
        return Ok(());
    }
    let place = SPEC.child("clusterIPs");
    if address.is_empty() {
        let next = allocator.next_address().map_err(|why| {
            let why = format!("failed to allocate IP: {why}");
            Error::invalid(&place, &json!([]), why)
        })?;
        spec.insert("clusterIPs".to_owned(), json!([next]));
        spec.insert("clusterIP".to_owned(), json!(next));
        return Ok(());
    }
    allocator.take_address(&address).map_err(|why| {
        let why = format!("failed to allocate IP {address}: {why}");
        Error::invalid(&place, &json!([address]), why)
    })
}

fn node_ports(
    spec: &mut Map<String, Value>,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Result<(), Error> {
    if !needs_ports(spec) {
        return Ok(());
    }
    let had = old.map(ports).unwrap_or_default();
    let are_wanted = text(spec, "type") == "NodePort"
        || spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    let place = SPEC.child("ports");
    let Some(list) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    // Ports with one number and different protocols share a port of the nodes.
    let mut shared: Vec<(Value, i64)> = Vec::new();
    let asked: Vec<(Value, i64)> = list
        .iter()
        .filter_map(|port| Some((port["port"].clone(), port["nodePort"].as_i64()?)))
        .filter(|(_, node_port)| *node_port != 0)
        .collect();
    for (index, port) in list.iter_mut().filter_map(Value::as_object_mut).enumerate() {
        let number = port.get("port").cloned().unwrap_or_default();
        let given = port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        if given == 0 && !are_wanted {
            continue;
        }
        let of_number = |pairs: &[(Value, i64)]| {
            let pair = pairs.iter().find(|(other, _)| *other == number);
            pair.map(|(_, node_port)| *node_port)
        };
        let known = of_number(&shared);
        let wanted = match (given, known) {
            (0, Some(known)) => Some(known),
            (0, None) => of_number(&asked),
            (given, _) => Some(given),
        };
        let is_taken = |wanted: &i64| known == Some(*wanted) || had.contains(wanted);
        let node_port = match wanted {
            Some(wanted) if is_taken(&wanted) => wanted,
            Some(wanted) => {
                let place = place.index(index);
                let refused = |why| Error::invalid(&place.child("nodePort"), wanted, why);
                allocator.take_port(wanted).map_err(refused)?;
                wanted
            }
            None => {
                let place = place.index(index);
                let refused = |why| Error::invalid(&place.child("nodePort"), 0, why);
                allocator.next_port().map_err(refused)?
            }
        };
        port.insert("nodePort".to_owned(), node_port.into());
        if known.is_none() {
            shared.push((number, node_port));
        }
    }
    Ok(())
}

fn health_check_port(
    spec: &mut Map<String, Value>,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Result<(), Status> {
    if !needs_check(spec) {
        return Ok(());
    }
    let given = spec.get("healthCheckNodePort").and_then(Value::as_i64);
    let before = old.and_then(|old| old["spec"]["healthCheckNodePort"].as_i64());
    if given.is_some() && given == before {
        return Ok(());
    }
    let port = match given {
        Some(port) => {
            let taken = allocator.take_port(port);
            taken.map(|()| port).map_err(|why| {
                format!("failed to allocate requested HealthCheck NodePort {port}: {why}")
            })
        }
        None => allocator
            .next_port()
            .map_err(|why| format!("failed to allocate a HealthCheck NodePort 0: {why}")),
    };
    let port = port.map_err(Status::internal)?;
    spec.insert("healthCheckNodePort".to_owned(), port.into());
    Ok(())
}

/// When the type of a Service changes, what only the old type has goes with it, unless the client changed it too.
pub(super) fn drop_fields_of_old_type(service: &mut Map<String, Value>, old: &Value) {
    let (Some(spec), Value::Object(old)) = (object_mut(service, "spec"), &old["spec"]) else {
        return;
    };
    let is_balanced = |spec: &Map<String, Value>| text(spec, "type") == "LoadBalancer";
    let is_outside = |spec: &Map<String, Value>| {
        needs_ports(spec) || (text(spec, "type") == "ClusterIP" && spec.contains_key("externalIPs"))
    };
    if needs_address(old) && !needs_address(spec) {
        for key in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ] {
            forget(spec, old, key);
        }
    }
    if needs_ports(old) && !needs_ports(spec) && node_ports_of(spec) == node_ports_of(old) {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            if let Value::Object(port) = port {
                port.remove("nodePort");
            }
        }
    }
    if needs_check(old) && !needs_check(spec) {
        forget(spec, old, "healthCheckNodePort");
    }
    if is_balanced(old) && !is_balanced(spec) {
        forget(spec, old, "allocateLoadBalancerNodePorts");
        forget(spec, old, "loadBalancerClass");
    }
    if is_outside(old) && !is_outside(spec) {
        forget(spec, old, "externalTrafficPolicy");
    }
    if !is_balanced(spec)
        && let Some(status) = object_mut(service, "status")
    {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}

/// Drops a field that the client left as it was.
fn forget(spec: &mut Map<String, Value>, old: &Map<String, Value>, key: &str) {
    if spec.get(key) == old.get(key) {
        spec.remove(key);
    }
}

fn node_ports_of(spec: &Map<String, Value>) -> Vec<&Value> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let ports = ports.into_iter().flatten();
    ports.map(|port| &port["nodePort"]).collect()
}
