//! Defaults of Services, and of the groups of networking, RBAC and flow control.

use serde_json::json;

use super::Rule;
use crate::core::service;
use crate::fields::{set_missing, str_field};
use crate::networking::network_policy;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.Service" => service::defaults::set_defaults,
        "core/v1.EndpointPort" => |port| set_missing(port, [("protocol", json!("TCP"))]),
        "discovery/v1.EndpointPort" => |port| {
            set_missing(port, [("name", json!("")), ("protocol", json!("TCP"))]);
        },
        "networking/v1.NetworkPolicyPort" => |port| set_missing(port, [("protocol", json!("TCP"))]),
        "networking/v1.NetworkPolicy" => network_policy::set_defaults,
        "networking/v1.IngressClassParametersReference" => |reference| {
            set_missing(reference, [("scope", json!("Cluster"))]);
        },
        "rbac/v1.RoleRef" => |reference| set_missing(reference, [("apiGroup", json!(RBAC))]),
        "rbac/v1.Subject" => |subject| {
            if matches!(str_field(subject, "kind"), "User" | "Group") {
                set_missing(subject, [("apiGroup", json!(RBAC))]);
            }
        },
        "flowcontrol/v1.FlowSchemaSpec" => |spec| {
            set_missing(spec, [("matchingPrecedence", json!(1000))]);
        },
        "flowcontrol/v1.ExemptPriorityLevelConfiguration" => |level| {
            set_missing(
                level,
                [
                    ("nominalConcurrencyShares", json!(0)),
                    ("lendablePercent", json!(0)),
                ],
            );
        },
        "flowcontrol/v1.LimitedPriorityLevelConfiguration" => |level| {
            set_missing(
                level,
                [
                    ("nominalConcurrencyShares", json!(30)),
                    ("lendablePercent", json!(0)),
                ],
            );
        },
        "flowcontrol/v1.QueuingConfiguration" => |queuing| {
            set_missing(
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
