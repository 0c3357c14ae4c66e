//! What Services use of a quota.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_builtin::fields::{list, number, text};
use serde_json::Value;

use crate::resource_list::ResourceList;

pub(super) fn measures(name: &str) -> bool {
    matches!(
        name,
        "services" | "services.nodeports" | "services.loadbalancers"
    )
}

/// Node ports are counted before they are allocated.
pub(super) fn usage(service: &Value) -> ResourceList {
    let spec = &service["spec"];
    let ports = list(spec, "ports");
    let (node_ports, load_balancers) = match text(spec, "type") {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if spec["allocateLoadBalancerNodePorts"] == false => {
            let has_port = |port: &&Value| number(port, "nodePort") != 0;
            (ports.iter().filter(has_port).count(), 1)
        }
        "LoadBalancer" => (ports.len(), 1),
        _ => (0, 0),
    };
    ResourceList::from([
        ("services".to_owned(), Quantity::ONE),
        (
            "services.nodeports".to_owned(),
            Quantity::from_count(node_ports),
        ),
        (
            "services.loadbalancers".to_owned(),
            Quantity::from_count(load_balancers),
        ),
    ])
}
