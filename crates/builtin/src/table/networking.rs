//! Services and what is behind and before them.

use outrigger_apimachinery::GroupResource;
use serde_json::{Value, json};

use super::cells::{age, labels, list, name, number, selector, some_of, text, text_or, texts};
use super::moment::Now;

pub(super) fn service(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let ports: Vec<_> = list(spec, "ports").iter().map(port_text).collect();
    let ports = match ports.join(",") {
        none if none.is_empty() => "<none>".to_owned(),
        ports => ports,
    };
    let address = spec["clusterIPs"][0].as_str().unwrap_or("<none>");
    vec![
        name(object),
        text(spec, "type").into(),
        address.into(),
        external_address(object).into(),
        ports.into(),
        age(object, now),
        labels(&spec["selector"]).into(),
    ]
}

fn port_text(port: &Value) -> String {
    let (number, node_port) = (number(port, "port"), number(port, "nodePort"));
    let protocol = text(port, "protocol");
    if node_port > 0 {
        return format!("{number}:{node_port}/{protocol}");
    }
    format!("{number}/{protocol}")
}

fn external_address(service: &Value) -> String {
    let spec = &service["spec"];
    let own = texts(spec, "externalIPs").join(",");
    match text(spec, "type") {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => {
            let balanced = balancer_addresses(&service["status"]);
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
fn balancer_addresses(status: &Value) -> String {
    let ingress = list(&status["loadBalancer"], "ingress").iter();
    let mut addresses: Vec<_> = ingress
        .map(|ingress| text_or(ingress, "ip", text(ingress, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.join(",")
}

pub(super) fn endpoints(object: &Value, now: Now) -> Vec<Value> {
    const MOST: usize = 3;
    let subsets = list(object, "subsets");
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = list(subset, "addresses").iter();
        let addresses: Vec<_> = addresses.map(|address| text(address, "ip")).collect();
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses.iter().map(|&address| address.to_owned()));
        }
        for port in ports {
            let number = number(port, "port");
            all.extend(addresses.iter().map(|address| {
                // An address with colons of its own is put into brackets.
                if address.contains(':') {
                    format!("[{address}]:{number}")
                } else {
                    format!("{address}:{number}")
                }
            }));
        }
    }
    let shown = if subsets.is_empty() {
        "<none>".to_owned()
    } else {
        some_of(&all, MOST)
    };
    vec![name(object), shown.into(), age(object, now)]
}

pub(super) fn endpoint_slice(object: &Value, now: Now) -> Vec<Value> {
    const MOST: usize = 3;
    let ports = list(object, "ports").iter();
    let ports: Vec<_> = ports
        .map(
            |port| match (port["port"].as_i64(), port["name"].as_str()) {
                (Some(number), _) => number.to_string(),
                (None, Some(name)) => name.to_owned(),
                (None, None) => "*".to_owned(),
            },
        )
        .collect();
    let endpoints = list(object, "endpoints").iter();
    let addresses: Vec<_> = endpoints
        .flat_map(|endpoint| texts(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    let shown = |items: &[String]| match some_of(items, MOST) {
        none if none.is_empty() => "<unset>".to_owned(),
        some => some,
    };
    vec![
        name(object),
        text(object, "addressType").into(),
        shown(&ports).into(),
        shown(&addresses).into(),
        age(object, now),
    ]
}

pub(super) fn ingress(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let has_tls = !list(spec, "tls").is_empty();
    vec![
        name(object),
        text_or(spec, "ingressClassName", "<none>").into(),
        hosts(list(spec, "rules")).into(),
        balancer_addresses(&object["status"]).into(),
        if has_tls { "80, 443" } else { "80" }.into(),
        age(object, now),
    ]
}

/// The first three hosts. How many more there are counts rules, with hosts or without.
fn hosts(rules: &[Value]) -> String {
    const MOST: usize = 3;
    let mut shown = Vec::new();
    let mut has_more = false;
    for rule in rules {
        has_more |= shown.len() == MOST;
        let host = text(rule, "host");
        if !has_more && !host.is_empty() {
            shown.push(host);
        }
    }
    match (shown.is_empty(), has_more) {
        (true, _) => "*".to_owned(),
        (false, false) => shown.join(","),
        (false, true) => format!("{} + {} more...", shown.join(","), rules.len() - MOST),
    }
}

pub(super) fn ingress_class(object: &Value, now: Now) -> Vec<Value> {
    const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";
    let spec = &object["spec"];
    let own = text(&object["metadata"], "name");
    let is_default = object["metadata"]["annotations"][DEFAULT] == "true";
    let name = if is_default {
        format!("{own} (default)")
    } else {
        own.to_owned()
    };
    let parameters = &spec["parameters"];
    let parameters = match (parameters.is_object(), parameters["apiGroup"].as_str()) {
        (false, _) => "<none>".to_owned(),
        (true, None) => format!("{}/{}", text(parameters, "kind"), text(parameters, "name")),
        (true, Some(group)) => {
            let (kind, name) = (text(parameters, "kind"), text(parameters, "name"));
            format!("{kind}.{group}/{name}")
        }
    };
    vec![
        name.into(),
        text(spec, "controller").into(),
        parameters.into(),
        age(object, now),
    ]
}

pub(super) fn network_policy(object: &Value, now: Now) -> Vec<Value> {
    let chosen = &object["spec"]["podSelector"];
    vec![name(object), selector(chosen).into(), age(object, now)]
}

pub(super) fn service_cidr(object: &Value, now: Now) -> Vec<Value> {
    let ranges = texts(&object["spec"], "cidrs").join(",");
    vec![name(object), ranges.into(), age(object, now)]
}

pub(super) fn ip_address(object: &Value, now: Now) -> Vec<Value> {
    let parent = &object["spec"]["parentRef"];
    let shown = if parent.is_object() {
        let resource = GroupResource::new(text(parent, "group"), text(parent, "resource"));
        let mut shown = resource.to_string().to_lowercase();
        for key in ["namespace", "name"] {
            if !text(parent, key).is_empty() || key == "name" {
                shown.push('/');
                shown.push_str(text(parent, key));
            }
        }
        json!(shown)
    } else {
        json!("<none>")
    };
    vec![name(object), shown, age(object, now)]
}
