//! What Pods use of a quota.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_apimachinery::quantity::Quantity;
use outrigger_builtin::fields::{list, text};
use outrigger_builtin::strategy::qos_class;
use serde_json::Value;

use super::Scope;
use crate::resource_list::{self, ResourceList};
use crate::total_resources::{self, Overhead};

/// Resources that are counted both by this name and with the prefix `requests.`.
const REQUESTED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Every container must specify these if a quota limits them.
const REQUIRED: [&str; 6] = [
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

pub(super) fn measures(name: &str) -> bool {
    let requested = name.strip_prefix("requests.");
    name == "pods"
        || REQUESTED.contains(&name)
        || name.starts_with("hugepages-")
        || name
            .strip_prefix("limits.")
            .is_some_and(|name| REQUESTED.contains(&name))
        || requested.is_some_and(|name| {
            REQUESTED.contains(&name) || name.starts_with("hugepages-") || is_extended(name)
        })
}

/// An extended resource has a domain that is not of Kubernetes.
fn is_extended(name: &str) -> bool {
    name.split_once('/').is_some_and(|(domain, _)| {
        !domain.ends_with("kubernetes.io") || domain.starts_with("deviceclass.")
    })
}

/// A Pod that has ended uses nothing.
pub(super) fn usage(pod: &Value) -> ResourceList {
    if matches!(text(&pod["status"], "phase"), "Failed" | "Succeeded") {
        return ResourceList::new();
    }
    let spec = &pod["spec"];
    compute_usage(
        &total_resources::requests(spec, Overhead::Counted),
        &total_resources::limits(spec, Overhead::Counted),
    )
}

fn compute_usage(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::from([("pods".to_owned(), Quantity::ONE)]);
    for (name, amount) in requests {
        let is_named = REQUESTED.contains(&name.as_str()) || name.starts_with("hugepages-");
        if is_named {
            usage.insert(name.clone(), *amount);
        }
        if is_named || is_extended(name) {
            usage.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in limits {
        if REQUESTED.contains(&name.as_str()) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

/// Requires what the quota limits of each container, unless the Pod itself has resources.
pub(super) fn check_required(required: &[&str], pod: &Value) -> Result<(), String> {
    let spec = &pod["spec"];
    if total_resources::has_pod_level(spec) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let containers = list(spec, "containers").iter();
    for container in containers.chain(list(spec, "initContainers")) {
        let amounts = |part: &str| resource_list::parse(&container["resources"][part]);
        let specified = compute_usage(&amounts("requests"), &amounts("limits"));
        for name in required.iter().filter(|name| REQUIRED.contains(name)) {
            if !specified.contains_key(*name) {
                missing
                    .entry(*name)
                    .or_default()
                    .insert(text(container, "name"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.iter().map(|(resource, containers)| {
        let containers: Vec<_> = containers.iter().copied().collect();
        format!("{resource} for: {}", containers.join(","))
    });
    let missing: Vec<_> = missing.collect();
    Err(format!("must specify {}", missing.join("; ")))
}

/// Whether a deadline limits the time that a Pod runs.
pub(crate) fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds >= 0)
}

pub(super) fn is_in_scope(scope: &Scope<'_>, pod: &Value) -> bool {
    let is_best_effort = || qos_class(&pod["spec"]) == "BestEffort";
    match scope.name {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(),
        "NotBestEffort" => !is_best_effort(),
        "PriorityClass" => {
            let class = text(&pod["spec"], "priorityClassName");
            let classes: &[&str] = if class.is_empty() { &[] } else { &[class] };
            scope.selects(classes)
        }
        "CrossNamespacePodAffinity" => has_affinity_to_other_namespaces(&pod["spec"]["affinity"]),
        _ => false,
    }
}

fn has_affinity_to_other_namespaces(affinity: &Value) -> bool {
    let crosses = |term: &Value| {
        !list(term, "namespaces").is_empty() || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = &affinity[*kind];
        let required = list(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = list(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
        required.iter().any(crosses)
            || preferred
                .iter()
                .any(|term| crosses(&term["podAffinityTerm"]))
    })
}
