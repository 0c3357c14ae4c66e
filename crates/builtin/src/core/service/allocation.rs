//! Allocates cluster IPs and node ports of Services.

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::{Map, Value, json};

use crate::fields::{object_mut, set_or_remove};
use crate::strategy::Strategy;

mod pool;

pub use pool::Pool;

const SERVICE: GroupKind<'static> = GroupKind::new("", "Service");
const SPEC: Path<'static> = Path::root("spec");

/// Why an address or a port cannot be allocated. The messages are those of kube-apiserver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    #[error("range is full")]
    Full,
    #[error("the provided network does not match the current range")]
    NetworkMismatch,
    #[error(
        "the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}"
    )]
    AddressNotInRange { address: String, range: String },
    #[error("provided IP is already allocated")]
    AddressAllocated,
    #[error("provided port is not in the valid range. The range of valid ports is {range}")]
    PortNotInRange { range: String },
    #[error("provided port is already allocated")]
    PortAllocated,
}

/// Allocates addresses and ports. If the write of the Service fails, the caller releases them.
pub trait Allocator {
    /// Allocates a free address.
    fn next_address(&mut self) -> Result<String, AllocationError>;
    /// Allocates the requested address.
    fn allocate_address(&mut self, address: &str) -> Result<(), AllocationError>;
    /// Allocates a free node port.
    fn next_port(&mut self) -> Result<i64, AllocationError>;
    /// Allocates the requested node port.
    fn allocate_port(&mut self, port: i64) -> Result<(), AllocationError>;
    fn release_address(&mut self, address: &str);
    fn release_port(&mut self, port: i64);

    /// Releases what a Service has and its successor does not have.
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

#[derive(Debug)]
pub(crate) struct Service;

impl Strategy for Service {
    fn allocates(&self) -> bool {
        true
    }

    fn allocate(
        &self,
        object: &mut Value,
        old: Option<&Value>,
        allocator: &mut dyn Allocator,
    ) -> Result<(), Status> {
        allocate(object, old, allocator)
    }
}

/// The cluster IPs of a Service.
pub fn addresses(service: &Value) -> Vec<String> {
    let addresses = service["spec"]["clusterIPs"].as_array();
    let addresses = addresses.into_iter().flatten().filter_map(Value::as_str);
    addresses
        .filter(|address| !matches!(*address, "" | "None"))
        .map(str::to_owned)
        .collect()
}

/// The node ports of a Service.
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

/// Allocates the addresses and ports of a new or updated Service.
///
/// If it fails, the caller releases what was allocated by then.
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
        copy_allocations(spec, &old["spec"]);
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

fn needs_cluster_ip(spec: &Map<String, Value>) -> bool {
    text(spec, "type") != "ExternalName"
}

fn needs_node_ports(spec: &Map<String, Value>) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn needs_health_check_port(spec: &Map<String, Value>) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// Copies allocated fields that the client omits from the old Service (`patchAllocatedValues`).
fn copy_allocations(spec: &mut Map<String, Value>, old: &Value) {
    let Value::Object(old) = old else {
        return;
    };
    if needs_cluster_ip(old) && needs_cluster_ip(spec) {
        if text(spec, "clusterIP").is_empty() {
            set_or_remove(spec, "clusterIP", old.get("clusterIP").cloned());
        }
        let is_unchanged = spec.get("clusterIP") == old.get("clusterIP");
        if is_unchanged && !spec.contains_key("clusterIPs") {
            set_or_remove(spec, "clusterIPs", old.get("clusterIPs").cloned());
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if !spec.contains_key(key) {
                set_or_remove(spec, key, old.get(key).cloned());
            }
        }
    }
    if needs_node_ports(old) && needs_node_ports(spec) {
        copy_node_ports(spec, old);
    }
    if needs_health_check_port(old) && needs_health_check_port(spec) {
        let port = old.get("healthCheckNodePort").cloned();
        if let Some(port) = port {
            spec.entry("healthCheckNodePort").or_insert(port);
        }
    }
}

fn copy_node_ports(spec: &mut Map<String, Value>, old: &Map<String, Value>) {
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
        let same_name = old_ports.iter().find(|old| old["name"] == port["name"]);
        if let (Some(same_name), Value::Object(port)) = (same_name, port)
            && same_name["nodePort"].is_number()
            && !used.contains(&same_name["nodePort"])
        {
            port.insert("nodePort".to_owned(), same_name["nodePort"].clone());
        }
    }
}

/// Sets the IP families. The server is single-stack, so that dual-stack is only declared, never allocated.
fn families(spec: &mut Map<String, Value>) -> Result<(), Error> {
    if !needs_cluster_ip(spec) {
        return Ok(());
    }
    let has_selector = spec
        .get("selector")
        .and_then(Value::as_object)
        .is_some_and(|selector| !selector.is_empty());
    let is_headless_without_selector = text(spec, "clusterIP") == "None" && !has_selector;
    let policy = if is_headless_without_selector {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    spec.entry("ipFamilyPolicy")
        .or_insert_with(|| json!(policy));
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    let families = spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    if let Some(families) = families.as_array_mut()
        && is_headless_without_selector
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
    if is_headless_without_selector {
        return Ok(());
    }
    if text(spec, "ipFamilyPolicy") == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        let path = SPEC.child("ipFamilyPolicy");
        return Err(Error::invalid(&path, "RequireDualStack", detail));
    }
    let families = spec.get("ipFamilies").and_then(Value::as_array);
    let path = SPEC.child("ipFamilies");
    let unsupported = families.into_iter().flatten().enumerate();
    match unsupported
        .into_iter()
        .find(|(_, family)| **family != "IPv4")
    {
        Some((index, family)) => Err(Error::invalid(
            &path.index(index),
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
    if !needs_cluster_ip(spec) {
        return Ok(());
    }
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && !spec.contains_key("clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    let is_allocated = old.is_some_and(|old| addresses(old).contains(&address));
    if address == "None" || is_allocated {
        return Ok(());
    }
    let path = SPEC.child("clusterIPs");
    if address.is_empty() {
        let next = allocator.next_address().map_err(|error| {
            let detail = format!("failed to allocate IP: {error}");
            Error::invalid(&path, json!([]), detail)
        })?;
        spec.insert("clusterIPs".to_owned(), json!([next]));
        spec.insert("clusterIP".to_owned(), json!(next));
        return Ok(());
    }
    allocator.allocate_address(&address).map_err(|error| {
        let detail = format!("failed to allocate IP {address}: {error}");
        Error::invalid(&path, json!([address]), detail)
    })
}

fn node_ports(
    spec: &mut Map<String, Value>,
    old: Option<&Value>,
    allocator: &mut dyn Allocator,
) -> Result<(), Error> {
    if !needs_node_ports(spec) {
        return Ok(());
    }
    let had = old.map(ports).unwrap_or_default();
    let allocates = text(spec, "type") == "NodePort"
        || spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    let path = SPEC.child("ports");
    let Some(list) = spec.get_mut("ports").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    // Ports with the same number and different protocols share a node port.
    let mut shared: Vec<(Value, i64)> = Vec::new();
    let requested: Vec<(Value, i64)> = list
        .iter()
        .filter_map(|port| Some((port["port"].clone(), port["nodePort"].as_i64()?)))
        .filter(|(_, node_port)| *node_port != 0)
        .collect();
    for (index, port) in list.iter_mut().filter_map(Value::as_object_mut).enumerate() {
        let number = port.get("port").cloned().unwrap_or_default();
        let given = port.get("nodePort").and_then(Value::as_i64).unwrap_or(0);
        if given == 0 && !allocates {
            continue;
        }
        let of_number = |pairs: &[(Value, i64)]| {
            let pair = pairs.iter().find(|(other, _)| *other == number);
            pair.map(|(_, node_port)| *node_port)
        };
        let known = of_number(&shared);
        let requested_port = match (given, known) {
            (0, Some(known)) => Some(known),
            (0, None) => of_number(&requested),
            (given, _) => Some(given),
        };
        let is_own = |port: &i64| known == Some(*port) || had.contains(port);
        let node_port = match requested_port {
            Some(port) if is_own(&port) => port,
            Some(port) => {
                let path = path.index(index);
                let field = path.child("nodePort");
                let invalid =
                    |error: AllocationError| Error::invalid(&field, port, error.to_string());
                allocator.allocate_port(port).map_err(invalid)?;
                port
            }
            None => {
                let path = path.index(index);
                let field = path.child("nodePort");
                let invalid = |error: AllocationError| Error::invalid(&field, 0, error.to_string());
                allocator.next_port().map_err(invalid)?
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
    if !needs_health_check_port(spec) {
        return Ok(());
    }
    let given = spec.get("healthCheckNodePort").and_then(Value::as_i64);
    let before = old.and_then(|old| old["spec"]["healthCheckNodePort"].as_i64());
    if given.is_some() && given == before {
        return Ok(());
    }
    let port = match given {
        Some(port) => {
            let allocated = allocator.allocate_port(port);
            allocated.map(|()| port).map_err(|error| {
                format!("failed to allocate requested HealthCheck NodePort {port}: {error}")
            })
        }
        None => allocator
            .next_port()
            .map_err(|error| format!("failed to allocate a HealthCheck NodePort 0: {error}")),
    };
    let port = port.map_err(Status::internal)?;
    spec.insert("healthCheckNodePort".to_owned(), port.into());
    Ok(())
}

/// `dropTypeDependentFields`: removes fields that only the old type has, unless the client changed them too.
pub(crate) fn drop_type_dependent_fields(service: &mut Map<String, Value>, old: &Value) {
    let (Some(spec), Value::Object(old)) = (object_mut(service, "spec"), &old["spec"]) else {
        return;
    };
    let is_load_balancer = |spec: &Map<String, Value>| text(spec, "type") == "LoadBalancer";
    let is_externally_accessible = |spec: &Map<String, Value>| {
        needs_node_ports(spec)
            || (text(spec, "type") == "ClusterIP" && spec.contains_key("externalIPs"))
    };
    if needs_cluster_ip(old) && !needs_cluster_ip(spec) {
        for key in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "internalTrafficPolicy",
        ] {
            drop_unchanged(spec, old, key);
        }
    }
    if needs_node_ports(old) && !needs_node_ports(spec) && node_ports_of(spec) == node_ports_of(old)
    {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            if let Value::Object(port) = port {
                port.remove("nodePort");
            }
        }
    }
    if needs_health_check_port(old) && !needs_health_check_port(spec) {
        drop_unchanged(spec, old, "healthCheckNodePort");
    }
    if is_load_balancer(old) && !is_load_balancer(spec) {
        drop_unchanged(spec, old, "allocateLoadBalancerNodePorts");
        drop_unchanged(spec, old, "loadBalancerClass");
    }
    if is_externally_accessible(old) && !is_externally_accessible(spec) {
        drop_unchanged(spec, old, "externalTrafficPolicy");
    }
    if !is_load_balancer(spec)
        && let Some(status) = object_mut(service, "status")
    {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
}

/// Removes a field that the client did not change.
fn drop_unchanged(spec: &mut Map<String, Value>, old: &Map<String, Value>, key: &str) {
    if spec.get(key) == old.get(key) {
        spec.remove(key);
    }
}

fn node_ports_of(spec: &Map<String, Value>) -> Vec<&Value> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let ports = ports.into_iter().flatten();
    ports.map(|port| &port["nodePort"]).collect()
}
