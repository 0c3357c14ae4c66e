//! Table cells of cluster-level kinds, most of which have nothing but a table.

use serde_json::{Value, json};

use super::moment::Now;
use crate::apiregistration::api_service;
use crate::certificates::certificate_signing_request;
use crate::core::{event, node, resource_quota};
use crate::fields::{list, number, text};
use crate::kinds::Kind;
use crate::rbac::role_binding;
use crate::table::cells::{age, name, text_or};

type Cells = fn(&Value, Now) -> Vec<Value>;

pub(super) fn of(kind: &Kind, object: &Value, now: Now) -> Vec<Value> {
    let cells: Cells = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => |object, now| {
            let phase = text(&object["status"], "phase");
            vec![name(object), phase.into(), age(object, now)]
        },
        ("", "Node") => node::cells,
        ("" | "events.k8s.io", "Event") => event::cells,
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            |object, now| vec![name(object), age(object, now)]
        }
        ("", "ResourceQuota") => resource_quota::cells,
        ("", "ComponentStatus") => component_status,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => role_binding::cells,
        ("certificates.k8s.io", "CertificateSigningRequest") => certificate_signing_request::cells,
        ("coordination.k8s.io", "Lease") => |object, now| {
            let holder = text(&object["spec"], "holderIdentity");
            vec![name(object), holder.into(), age(object, now)]
        },
        ("scheduling.k8s.io", "PriorityClass") => |object, now| {
            vec![
                name(object),
                number(object, "value").into(),
                (object["globalDefault"] == true).into(),
                age(object, now),
                text(object, "preemptionPolicy").into(),
            ]
        },
        ("node.k8s.io", "RuntimeClass") => |object, now| {
            vec![
                name(object),
                text(object, "handler").into(),
                age(object, now),
            ]
        },
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => |object, now| {
            let hooks = list(object, "webhooks").len();
            vec![name(object), hooks.into(), age(object, now)]
        },
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            |object, now| policy(object, "validations", now)
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            |object, now| policy(object, "mutations", now)
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => policy_binding,
        ("apiregistration.k8s.io", "APIService") => api_service::cells,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flow_schema,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => priority_level,
        ("resource.k8s.io", "ResourceClaim") => resource_claim,
        ("resource.k8s.io", "ResourceSlice") => |object, now| {
            let spec = &object["spec"];
            vec![
                name(object),
                text(spec, "nodeName").into(),
                text(spec, "driver").into(),
                text(&spec["pool"], "name").into(),
                age(object, now),
            ]
        },
        _ => |object, _| {
            let created = &object["metadata"]["creationTimestamp"];
            vec![name(object), created.clone()]
        },
    };
    cells(object, now)
}

fn component_status(object: &Value, _: Now) -> Vec<Value> {
    let conditions = list(object, "conditions").iter();
    let healthy = conditions
        .rev()
        .find(|condition| condition["type"] == "Healthy");
    let state = match healthy {
        Some(condition) if condition["status"] == "True" => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    };
    let of = |key: &str| healthy.map_or("", |condition| text(condition, key));
    vec![
        name(object),
        state.into(),
        of("message").into(),
        of("error").into(),
    ]
}

fn policy(object: &Value, key: &str, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let parameters = &spec["paramKind"];
    let parameters = if parameters.is_object() {
        format!(
            "{}/{}",
            text(parameters, "apiVersion"),
            text(parameters, "kind")
        )
    } else {
        "<unset>".to_owned()
    };
    vec![
        name(object),
        list(spec, key).len().into(),
        parameters.into(),
        age(object, now),
    ]
}

fn policy_binding(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let parameters = &spec["paramRef"];
    let shown = match (text(parameters, "name"), text(parameters, "namespace")) {
        ("", _) => "<unset>".to_owned(),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    };
    vec![
        name(object),
        text(spec, "policyName").into(),
        shown.into(),
        age(object, now),
    ]
}

fn flow_schema(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let conditions = list(&object["status"], "conditions").iter();
    let mut dangling = conditions.filter(|condition| condition["type"] == "Dangling");
    vec![
        name(object),
        text(&spec["priorityLevelConfiguration"], "name").into(),
        number(spec, "matchingPrecedence").into(),
        text_or(&spec["distinguisherMethod"], "type", "<none>").into(),
        age(object, now),
        dangling
            .next()
            .map_or("?", |condition| text(condition, "status"))
            .into(),
    ]
}

fn priority_level(object: &Value, now: Now) -> Vec<Value> {
    let limited = &object["spec"]["limited"];
    let queuing = &limited["limitResponse"]["queuing"];
    let number = |object: &Value, key: &str| match &object[key] {
        Value::Null => json!("<none>"),
        number => number.clone(),
    };
    vec![
        name(object),
        text(&object["spec"], "type").into(),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        age(object, now),
    ]
}

fn resource_claim(object: &Value, now: Now) -> Vec<Value> {
    let status = &object["status"];
    let is_deleted = object["metadata"]["deletionTimestamp"].is_string();
    let mut states = Vec::new();
    if is_deleted {
        states.push("deleted");
    }
    if status["allocation"].is_object() {
        states.push("allocated");
        if !list(status, "reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !is_deleted {
        states.push("pending");
    }
    vec![name(object), states.join(",").into(), age(object, now)]
}
