//! Defaults of Services.

use serde_json::{Map, Value, json};

use crate::fields::{items_mut, object_mut, set_missing, str_field};

pub(crate) fn set_defaults(service: &mut Map<String, Value>) {
    let Some(spec) = object_mut(service, "spec") else {
        return;
    };
    set_missing(
        spec,
        [
            ("sessionAffinity", json!("None")),
            ("type", json!("ClusterIP")),
        ],
    );
    set_session_affinity_defaults(spec);
    for port in items_mut(spec, "ports") {
        set_missing(port, [("protocol", json!("TCP"))]);
        let is_unset = |target: &Value| *target == 0 || *target == "";
        if port.get("targetPort").is_none_or(is_unset) {
            let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let type_ = str_field(spec, "type").to_owned();
    let is_outside = matches!(type_.as_str(), "LoadBalancer" | "NodePort")
        || (type_ == "ClusterIP" && spec.contains_key("externalIPs"));
    if is_outside {
        set_missing(spec, [("externalTrafficPolicy", json!("Cluster"))]);
    }
    if matches!(type_.as_str(), "LoadBalancer" | "NodePort" | "ClusterIP") {
        set_missing(spec, [("internalTrafficPolicy", json!("Cluster"))]);
    }
    if type_ == "LoadBalancer" {
        set_missing(spec, [("allocateLoadBalancerNodePorts", json!(true))]);
        set_ingress_mode(service);
    }
}

fn set_session_affinity_defaults(spec: &mut Map<String, Value>) {
    match str_field(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let client = object_mut(spec, "sessionAffinityConfig")
                .and_then(|all| object_mut(all, "clientIP"));
            if let Some(client) = client {
                set_missing(client, [("timeoutSeconds", json!(10800))]);
            }
        }
        _ => {}
    }
}

fn set_ingress_mode(service: &mut Map<String, Value>) {
    let balancer =
        object_mut(service, "status").and_then(|status| object_mut(status, "loadBalancer"));
    if let Some(balancer) = balancer {
        for ingress in items_mut(balancer, "ingress") {
            if ingress.contains_key("ip") {
                set_missing(ingress, [("ipMode", json!("VIP"))]);
            }
        }
    }
}
