//! Defaults of Pods, containers, probes and volumes.

use outrigger_apimachinery::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::status;
use crate::defaults::Rule;
use crate::fields::{items_mut, object_mut, set_missing, str_field};

pub(crate) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name.strip_prefix("core/v1.")? {
        "Pod" => pod,
        "PodSpec" => pod_spec,
        "PodStatus" => status::sync_addresses,
        "NodeSpec" => |spec| status::sync_plural(spec, "podCIDR", "podCIDRs", Value::clone),
        "Container" | "EphemeralContainer" => container,
        "ContainerPort" => |port| set_missing(port, [("protocol", json!("TCP"))]),
        "Probe" => |probe| {
            set_missing(
                probe,
                [
                    ("timeoutSeconds", json!(1)),
                    ("periodSeconds", json!(10)),
                    ("successThreshold", json!(1)),
                    ("failureThreshold", json!(3)),
                ],
            );
        },
        "HTTPGetAction" => |action| {
            set_missing(action, [("path", json!("/")), ("scheme", json!("HTTP"))]);
        },
        "GRPCAction" => |action| set_missing(action, [("service", json!(""))]),
        "ObjectFieldSelector" => |selector| set_missing(selector, [("apiVersion", json!("v1"))]),
        "FileKeySelector" => |selector| set_missing(selector, [("optional", json!(false))]),
        "Volume" => volume,
        "SecretVolumeSource"
        | "ConfigMapVolumeSource"
        | "DownwardAPIVolumeSource"
        | "ProjectedVolumeSource" => |source| set_missing(source, [("defaultMode", json!(0o644))]),
        "HostPathVolumeSource" => |source| set_missing(source, [("type", json!(""))]),
        "ServiceAccountTokenProjection" => |projection| {
            set_missing(projection, [("expirationSeconds", json!(3600))]);
        },
        _ => return None,
    };
    Some(rule)
}

/// Defaults of Pods that templates do not have.
fn pod(pod: &mut Map<String, Value>) {
    let Some(spec) = object_mut(pod, "spec") else {
        return;
    };
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in items_mut(spec, list) {
            requests_from_limits(container);
            if is_on_host {
                host_ports(container);
            }
        }
    }
    pod_requests(spec);
    set_missing(spec, [("enableServiceLinks", json!(true))]);
}

/// Requests default to limits.
fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container
        .get_mut("resources")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    if let Some(requests) = object_mut(resources, "requests") {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn host_ports(container: &mut Map<String, Value>) {
    for port in items_mut(container, "ports") {
        if let Some(number) = port.get("containerPort").cloned() {
            port.entry("hostPort").or_insert(number);
        }
    }
}

/// Pod-level requests default to the sum of the container requests, else to the Pod-level limits.
fn pod_requests(spec: &mut Map<String, Value>) {
    const SHARED: [&str; 2] = ["cpu", "memory"];
    let limits = spec.get("resources").map(|resources| &resources["limits"]);
    let Some(Value::Object(limits)) = limits.cloned() else {
        return;
    };
    let requests_by_name = SHARED.map(|name| (name, container_requests(spec, name)));
    let Some(requests) = object_mut(spec, "resources").and_then(|all| object_mut(all, "requests"))
    else {
        return;
    };
    for (name, amount) in requests_by_name {
        if let Some(amount) = amount {
            requests
                .entry(name)
                .or_insert_with(|| amount.canonical().into());
        }
    }
    for (name, limit) in limits {
        let is_supported = SHARED.contains(&name.as_str()) || name.starts_with("hugepages-");
        if is_supported {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// The requests of all concurrently running containers, or of the init container that requests more.
fn container_requests(spec: &Map<String, Value>, name: &str) -> Option<Quantity> {
    let list = |key: &str| {
        spec.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let request = |container: &Value| -> Option<Quantity> {
        let request = container["resources"]["requests"][name].as_str()?;
        Quantity::parse(request).ok()
    };
    let mut total: Option<Quantity> = None;
    for amount in list("containers").filter_map(request) {
        total = Some(total.unwrap_or(Quantity::ZERO).plus(amount));
    }
    let mut beside: Option<Quantity> = None;
    let mut largest: Option<Quantity> = None;
    for container in list("initContainers") {
        let Some(amount) = request(container) else {
            continue;
        };
        let with_sidecars = beside.unwrap_or(Quantity::ZERO).plus(amount);
        if container["restartPolicy"] == "Always" {
            beside = Some(with_sidecars);
        } else if largest.is_none_or(|largest| largest < with_sidecars) {
            largest = Some(with_sidecars);
        }
    }
    let running = match (total, beside) {
        (Some(total), Some(beside)) => Some(total.plus(beside)),
        (total, beside) => total.or(beside),
    };
    match (running, largest) {
        (Some(running), Some(largest)) if largest > running => Some(largest),
        (running, largest) => running.or(largest),
    }
}

fn pod_spec(spec: &mut Map<String, Value>) {
    set_missing(
        spec,
        [
            ("dnsPolicy", json!("ClusterFirst")),
            ("restartPolicy", json!("Always")),
            ("securityContext", json!({})),
            ("terminationGracePeriodSeconds", json!(30)),
            ("schedulerName", json!("default-scheduler")),
        ],
    );
    // `serviceAccount` is the deprecated name of the field.
    let account = ["serviceAccountName", "serviceAccount"]
        .iter()
        .find_map(|key| spec.get(*key).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
}

fn container(container: &mut Map<String, Value>) {
    let policy = pull_policy(str_field(container, "image"));
    set_missing(
        container,
        [
            ("imagePullPolicy", json!(policy)),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
        ],
    );
}

/// Images with the tag `latest` are always pulled. Invalid references count as fixed.
fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn is_latest(image: &str) -> bool {
    if image.contains('@') || !is_reference(image) {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// Whether an image without digest is a valid reference: lowercase names, an optional registry and tag.
fn is_reference(image: &str) -> bool {
    let (path, tag) = match image.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (image, None),
    };
    let is_tag = |tag: &str| {
        let is_first = |c: char| c.is_ascii_alphanumeric() || c == '_';
        tag.len() <= 128
            && tag.starts_with(is_first)
            && tag.chars().all(|c| is_first(c) || c == '.' || c == '-')
    };
    let mut parts: Vec<_> = path.split('/').collect();
    let first = parts.first().copied().unwrap_or_default();
    let has_registry = parts.len() > 1
        && (first.contains(['.', ':']) || first == "localhost" || first != first.to_lowercase());
    if has_registry {
        parts.remove(0);
    }
    let is_part = |part: &&str| {
        let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(is_end)
            && part.ends_with(is_end)
            && part
                .chars()
                .all(|c| is_end(c) || matches!(c, '.' | '_' | '-'))
    };
    !parts.is_empty() && parts.iter().all(is_part) && tag.is_none_or(is_tag)
}

fn volume(volume: &mut Map<String, Value>) {
    let has_source = volume.keys().any(|key| key != "name");
    if !has_source {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
        let policy = pull_policy(str_field(image, "reference"));
        set_missing(image, [("pullPolicy", json!(policy))]);
    }
}
