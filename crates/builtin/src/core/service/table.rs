//! The table service of Services.

use serde_json::Value;

use crate::fields::{list, number, text};
use crate::table::cells::{age, format_labels, name, strings, text_or};
use crate::table::moment::Now;

pub(crate) fn cells(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let ports: Vec<_> = list(spec, "ports").iter().map(port_cell).collect();
    let ports = match ports.join(",") {
        none if none.is_empty() => "<none>".to_owned(),
        ports => ports,
    };
    let address = spec["clusterIPs"][0].as_str().unwrap_or("<none>");
    vec![
        name(object),
        text(spec, "type").into(),
        address.into(),
        external_ip_cell(object).into(),
        ports.into(),
        age(object, now),
        format_labels(&spec["selector"]).into(),
    ]
}

fn port_cell(port: &Value) -> String {
    let (number, node_port) = (number(port, "port"), number(port, "nodePort"));
    let protocol = text(port, "protocol");
    if node_port > 0 {
        return format!("{number}:{node_port}/{protocol}");
    }
    format!("{number}/{protocol}")
}

fn external_ip_cell(service: &Value) -> String {
    let spec = &service["spec"];
    let own = strings(spec, "externalIPs").join(",");
    match text(spec, "type") {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => {
            let balanced = load_balancer_addresses(&service["status"]);
            match (balanced.is_empty(), own.is_empty()) {
                (true, true) => "<pending>".to_owned(),
                (false, false) => format!("{balanced},{own}"),
                (true, false) => own,
                (false, true) => balanced,
            }
        }
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// Where a balancer answers, sorted, each once.
pub(crate) fn load_balancer_addresses(status: &Value) -> String {
    let ingress = list(&status["loadBalancer"], "ingress").iter();
    let mut addresses: Vec<_> = ingress
        .map(|ingress| text_or(ingress, "ip", text(ingress, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.join(",")
}
