//! Services, what is behind them and what guards them; access.

use serde_json::{Map, Value, json};

use super::{Rule, default, items, part, text};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.Service" => service,
        "core/v1.EndpointPort" => |port| default(port, [("protocol", json!("TCP"))]),
        "discovery/v1.EndpointPort" => |port| {
            default(port, [("name", json!("")), ("protocol", json!("TCP"))]);
        },
        "networking/v1.NetworkPolicyPort" => |port| default(port, [("protocol", json!("TCP"))]),
        "networking/v1.NetworkPolicy" => network_policy,
        "networking/v1.IngressClassParametersReference" => |reference| {
            default(reference, [("scope", json!("Cluster"))]);
        },
        "rbac/v1.RoleRef" => |reference| default(reference, [("apiGroup", json!(RBAC))]),
        "rbac/v1.Subject" => |subject| {
            if matches!(text(subject, "kind"), "User" | "Group") {
                default(subject, [("apiGroup", json!(RBAC))]);
            }
        },
        "flowcontrol/v1.FlowSchemaSpec" => |spec| {
            default(spec, [("matchingPrecedence", json!(1000))]);
        },
        "flowcontrol/v1.ExemptPriorityLevelConfiguration" => |level| {
            default(
                level,
                [
                    ("nominalConcurrencyShares", json!(0)),
                    ("lendablePercent", json!(0)),
                ],
            );
        },
        "flowcontrol/v1.LimitedPriorityLevelConfiguration" => |level| {
            default(
                level,
                [
                    ("nominalConcurrencyShares", json!(30)),
                    ("lendablePercent", json!(0)),
                ],
            );
        },
        "flowcontrol/v1.QueuingConfiguration" => |queuing| {
            default(
                queuing,
                [
                    ("queues", json!(64)),
                    ("handSize", json!(8)),
                    ("queueLengthLimit", json!(50)),
                ],
            );
        },
        _ => return None,
    };
    Some(rule)
}

fn service(service: &mut Map<String, Value>) {
    let Some(spec) = part(service, "spec") else {
        return;
    };
    default(
        spec,
        [
            ("sessionAffinity", json!("None")),
            ("type", json!("ClusterIP")),
        ],
    );
    session_affinity(spec);
    for port in items(spec, "ports") {
        default(port, [("protocol", json!("TCP"))]);
        let is_unset = |target: &Value| *target == 0 || *target == "";
        if port.get("targetPort").is_none_or(is_unset) {
            let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let type_ = text(spec, "type").to_owned();
    let is_outside = matches!(type_.as_str(), "LoadBalancer" | "NodePort")
        || (type_ == "ClusterIP" && spec.contains_key("externalIPs"));
    if is_outside {
        default(spec, [("externalTrafficPolicy", json!("Cluster"))]);
    }
    if matches!(type_.as_str(), "LoadBalancer" | "NodePort" | "ClusterIP") {
        default(spec, [("internalTrafficPolicy", json!("Cluster"))]);
    }
    if type_ == "LoadBalancer" {
        default(spec, [("allocateLoadBalancerNodePorts", json!(true))]);
        ingress_mode(service);
    }
}

fn session_affinity(spec: &mut Map<String, Value>) {
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let client = part(spec, "sessionAffinityConfig").and_then(|all| part(all, "clientIP"));
            if let Some(client) = client {
                default(client, [("timeoutSeconds", json!(10800))]);
            }
        }
        _ => {}
    }
}

fn ingress_mode(service: &mut Map<String, Value>) {
    let balancer = part(service, "status").and_then(|status| part(status, "loadBalancer"));
    if let Some(balancer) = balancer {
        for ingress in items(balancer, "ingress") {
            if ingress.contains_key("ip") {
                default(ingress, [("ipMode", json!("VIP"))]);
            }
        }
    }
}

fn network_policy(policy: &mut Map<String, Value>) {
    if let Some(spec) = part(policy, "spec") {
        let types = if spec.contains_key("egress") {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        default(spec, [("policyTypes", types)]);
    }
}
