//! Pods and templates: names that hide others, ports that overlap, names that are no DNS labels.

use std::collections::HashMap;

use outrigger_apimachinery::syntax;
use serde_json::Value;

use crate::fields::{list, number, text};

pub(super) fn of_pod(pod: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = match old {
        None => name(pod, "the Pod's hostname"),
        Some(_) => Vec::new(),
    };
    let is_changed = old.is_none_or(|old| old["spec"] != pod["spec"]);
    if is_changed {
        spec("spec", &pod["spec"], &mut warnings);
    }
    warnings
}

/// The warnings of a workload with a template at a path such as `spec.template`.
pub(super) fn of_template(path: &str, workload: &Value, old: Option<&Value>) -> Vec<String> {
    let has_hostnames = matches!(
        text(workload, "kind"),
        "Deployment" | "ReplicaSet" | "ReplicationController" | "Job" | "CronJob"
    );
    let mut warnings = match old {
        None if has_hostnames => name(workload, "Pod names and hostnames"),
        _ => Vec::new(),
    };
    let template = |object: &'_ Value| -> Value {
        let parts = path.split('.');
        parts.fold(object, |value, part| &value[part]).clone()
    };
    let new = template(workload);
    let is_changed = old.is_none_or(|old| template(old) != new);
    if is_changed {
        spec(&format!("{path}.spec"), &new["spec"], &mut warnings);
    }
    warnings
}

fn name(object: &Value, used_in: &str) -> Vec<String> {
    let violations = syntax::dns1123_label(text(&object["metadata"], "name"));
    if violations.is_empty() {
        return Vec::new();
    }
    let violations = violations.join(" ");
    vec![format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{violations}]"
    )]
}

fn spec(path: &str, spec: &Value, warnings: &mut Vec<String>) {
    let containers: Vec<(String, &Value)> = ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|key| {
            let containers = list(spec, key).iter().enumerate();
            containers.map(move |(index, container)| (format!("{path}.{key}[{index}]"), container))
        })
        .collect();
    for (path, container) in &containers {
        environment(path, container, warnings);
    }
    port_definitions(&containers, warnings);
    port_names(&containers, warnings);
    if spec["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
}

/// A variable may extend its previous definition, but not replace it.
fn environment(path: &str, container: &Value, warnings: &mut Vec<String>) {
    let mut known: Vec<&str> = Vec::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if !known.contains(&name) {
            known.push(name);
            continue;
        }
        let reference = format!("$({name})");
        let value = text(variable, "value");
        if variable["valueFrom"].is_object() || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{path}.env[{index}]: hides previous definition of \"{name}\", which may be dropped when using apply"
            ));
        }
    }
}

fn ports<'a>(containers: &'a [(String, &'a Value)]) -> impl Iterator<Item = (String, &'a Value)> {
    containers.iter().flat_map(|(path, container)| {
        let ports = list(container, "ports").iter().enumerate();
        ports.map(move |(index, port)| (format!("{path}.ports[{index}]"), port))
    })
}

fn port_definitions(containers: &[(String, &Value)], warnings: &mut Vec<String>) {
    let mut known: HashMap<(i64, &str), Vec<(String, &Value)>> = HashMap::new();
    for (path, port) in ports(containers) {
        let key = (number(port, "containerPort"), text(port, "protocol"));
        let others = known.entry(key).or_default();
        for (other_path, other) in others.iter() {
            let (ip, other_ip) = (text(port, "hostIP"), text(other, "hostIP"));
            let (host, other_host) = (number(port, "hostPort"), number(other, "hostPort"));
            let problem = if (ip, host) == (other_ip, other_host) {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            warnings.push(format!(
                "{path}: {problem} port definition with {other_path}"
            ));
        }
        others.push((path, port));
    }
}

fn port_names(containers: &[(String, &Value)], warnings: &mut Vec<String>) {
    let mut known: HashMap<&str, String> = HashMap::new();
    for (path, port) in ports(containers) {
        let name = text(port, "name");
        if name.is_empty() {
            continue;
        }
        if let Some(other) = known.get(name) {
            warnings.push(format!(
                "{path}: duplicate port name \"{name}\" with {other}, services and probes that select ports by name will use {other}"
            ));
        } else {
            known.insert(name, path);
        }
    }
}
