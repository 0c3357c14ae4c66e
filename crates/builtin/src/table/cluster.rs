//! Nodes, namespaces, events, access, quotas, and what extends the API.

use serde_json::{Value, json};

use super::cells::{age, list, name, number, text, text_or};
use super::moment::{Now, human};
use crate::kinds::Kind;

type Cells = fn(&Value, Now) -> Vec<Value>;

pub(super) fn of(kind: &Kind, object: &Value, now: Now) -> Vec<Value> {
    let cells: Cells = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => |object, now| {
            let phase = text(&object["status"], "phase");
            vec![name(object), phase.into(), age(object, now)]
        },
        ("", "Node") => node,
        ("" | "events.k8s.io", "Event") => event,
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            |object, now| vec![name(object), age(object, now)]
        }
        ("", "ResourceQuota") => quota,
        ("", "ComponentStatus") => component_status,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding,
        ("certificates.k8s.io", "CertificateSigningRequest") => signing_request,
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
        ("apiregistration.k8s.io", "APIService") => api_service,
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

fn node(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let ready = list(status, "conditions")
        .iter()
        .rfind(|condition| condition["type"] == "Ready");
    let mut state = match ready {
        Some(condition) if condition["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if spec["unschedulable"] == true {
        state.push_str(",SchedulingDisabled");
    }
    let info = &status["nodeInfo"];
    let mut kernel = text_or(info, "kernelVersion", "<unknown>").to_owned();
    let architecture = text(info, "architecture");
    if !architecture.is_empty() {
        kernel.push_str(&format!(" ({architecture})"));
    }
    let address = |type_: &str| {
        let addresses = list(status, "addresses").iter();
        let mut addresses = addresses.filter(|address| address["type"] == type_);
        addresses
            .next()
            .map_or("<none>", |item| text(item, "address"))
    };
    vec![
        name(object),
        state.into(),
        roles(object).into(),
        age(object, now),
        text(info, "kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        text_or(info, "osImage", "<unknown>").into(),
        kernel.into(),
        text_or(info, "containerRuntimeVersion", "<unknown>").into(),
    ]
}

/// Roles are labels.
fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<_> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.join(",")
}

fn event(object: &Value, now: Now) -> Vec<Value> {
    let time = |key: &str| object[key].as_str();
    let first = now.since(time("firstTimestamp").or_else(|| time("eventTime")));
    let mut last = match time("lastTimestamp") {
        Some(last) => now.since(Some(last)),
        None => first.clone(),
    };
    let mut count = number(object, "count").max(1);
    let series = &object["series"];
    if series.is_object() {
        last = now.since(series["lastObservedTime"].as_str());
        count = number(series, "count");
    }
    let about = &object["involvedObject"];
    let kind = text(about, "kind").to_lowercase();
    let target = match text(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = &object["source"];
    let component = text_or(source, "component", text(object, "reportingComponent"));
    let source = match text_or(source, "host", text(object, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        last.into(),
        text(object, "type").into(),
        text(object, "reason").into(),
        target.into(),
        text(about, "fieldPath").into(),
        source.into(),
        text(object, "message").trim().into(),
        first.into(),
        count.into(),
        name(object),
    ]
}

fn quota(object: &Value, now: Now) -> Vec<Value> {
    let status = &object["status"];
    let hard = status["hard"].as_object().into_iter().flatten();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, most) in hard {
        let used = text_or(&status["used"], resource, "0");
        let most = most.as_str().unwrap_or_default();
        let text = format!("{resource}: {used}/{most}");
        if resource.starts_with("limits.") {
            limits.push(text);
        } else {
            requests.push(text);
        }
    }
    vec![
        name(object),
        requests.join(", ").into(),
        limits.join(", ").into(),
        age(object, now),
    ]
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

fn binding(object: &Value, now: Now) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| {
        let subjects = list(object, "subjects").iter();
        let of_kind = subjects.filter(|subject| subject["kind"] == kind);
        let names = of_kind.map(|subject| match kind {
            "ServiceAccount" => {
                format!("{}/{}", text(subject, "namespace"), text(subject, "name"))
            }
            _ => text(subject, "name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        name(object),
        format!("{}/{}", text(role, "kind"), text(role, "name")).into(),
        age(object, now),
        subjects("User").into(),
        subjects("Group").into(),
        subjects("ServiceAccount").into(),
    ]
}

fn signing_request(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let has = |type_: &str| {
        let conditions = list(status, "conditions").iter();
        conditions
            .clone()
            .any(|condition| condition["type"] == type_)
    };
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(status, "certificate").is_empty() {
        state.push_str(",Issued");
    }
    let wanted = spec["expirationSeconds"].as_i64();
    vec![
        name(object),
        age(object, now),
        text_or(spec, "signerName", "<none>").into(),
        text(spec, "username").into(),
        wanted.map_or_else(|| "<none>".to_owned(), human).into(),
        state.into(),
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

fn api_service(object: &Value, now: Now) -> Vec<Value> {
    let service = &object["spec"]["service"];
    let service = if service.is_object() {
        format!("{}/{}", text(service, "namespace"), text(service, "name"))
    } else {
        "Local".to_owned()
    };
    let conditions = list(&object["status"], "conditions").iter();
    let mut conditions = conditions.filter(|condition| condition["type"] == "Available");
    let available = match conditions.next() {
        None => "Unknown".to_owned(),
        Some(condition) => {
            let (state, reason) = (text(condition, "status"), text(condition, "reason"));
            if state == "True" || reason.is_empty() {
                state.to_owned()
            } else {
                format!("{state} ({reason})")
            }
        }
    };
    vec![
        name(object),
        service.into(),
        available.into(),
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
