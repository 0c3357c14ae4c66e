//! The rules of kstatus: by kind for built-in kinds, by conditions for others.
//!
//! Where kstatus takes an object for current that does not work, this does not: a failed Pod, and a paused Deployment or a
//! StatefulSet with the strategy `OnDelete` whose pods are not available. Where kstatus takes an object for failed because
//! of a condition from before its spec changed, this does not.

use jiff::Timestamp;
use serde_json::Value;

use super::{Condition, Health, conditions, in_progress};

/// Assesses an object that is not terminating.
pub(super) fn assess(object: &Value) -> Health {
    if let Some(health) = by_generation_and_conditions(object) {
        return health;
    }
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, object["kind"].as_str().unwrap_or_default()) {
        ("", "Service") => service(object),
        ("", "Pod") => pod(object),
        ("", "PersistentVolumeClaim") => persistent_volume_claim(object),
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => {
            Health::Current
        }
        ("apps" | "extensions", "Deployment") => deployment(object),
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps" | "extensions", "DaemonSet") => daemon_set(object),
        ("apps" | "extensions", "ReplicaSet") => replica_set(object),
        ("batch", "Job") => job(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd(object),
        _ => by_ready_condition(object),
    }
}

/// Rules for all kinds: the observed generation, and the conditions Reconciling and Stalled.
fn by_generation_and_conditions(object: &Value) -> Option<Health> {
    let generation = object["metadata"]["generation"].as_i64();
    let observed = object["status"]["observedGeneration"].as_i64();
    if let (Some(generation), Some(observed)) = (generation, observed)
        && generation != observed
    {
        let kind = object["kind"].as_str().unwrap_or_default();
        return Some(in_progress(format!(
            "{kind} generation is {generation}, but latest observed generation is {observed}"
        )));
    }
    conditions(object).find_map(|condition| match condition.kind {
        "Reconciling" if condition.is_true() => Some(in_progress(condition.text())),
        "Stalled" if condition.is_true() => {
            let is_stale = condition.observed_generation < generation
                && condition.observed_generation.is_some();
            Some(if is_stale {
                in_progress(condition.text())
            } else {
                Health::Failed(condition.text())
            })
        }
        _ => None,
    })
}

fn by_ready_condition(object: &Value) -> Health {
    match conditions(object).find(|condition| condition.kind == "Ready") {
        Some(ready) if matches!(ready.status, "False" | "Unknown") => in_progress(ready.text()),
        _ => Health::Current,
    }
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or(0)
}

fn service(object: &Value) -> Health {
    let is_load_balancer = object["spec"]["type"] == "LoadBalancer";
    let cluster_ip = object["spec"]["clusterIP"].as_str().unwrap_or_default();
    if is_load_balancer && cluster_ip.is_empty() {
        return in_progress("ClusterIP not set. Service type: LoadBalancer");
    }
    Health::Current
}

fn persistent_volume_claim(object: &Value) -> Health {
    match object["status"]["phase"].as_str().unwrap_or("unknown") {
        "Bound" => Health::Current,
        phase => in_progress(format!("PVC is not Bound. phase: {phase}")),
    }
}

fn pod(object: &Value) -> Health {
    match object["status"]["phase"].as_str().unwrap_or_default() {
        "Succeeded" => Health::Current,
        "Failed" => failed_pod(object),
        "Running" => running_pod(object),
        "Pending" => {
            let unschedulable = conditions(object).any(|condition| {
                condition.kind == "PodScheduled"
                    && condition.status == "False"
                    && condition.reason == "Unschedulable"
            });
            in_progress(if unschedulable {
                "Pod has not been scheduled"
            } else {
                "Pod is in the Pending phase"
            })
        }
        "" => in_progress("Pod phase not available"),
        phase => in_progress(format!("unknown phase {phase}")),
    }
}

fn failed_pod(object: &Value) -> Health {
    let texts = ["reason", "message"].map(|field| object["status"][field].as_str());
    let texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
    let texts: Vec<&str> = std::iter::once("Pod failed").chain(texts).collect();
    Health::Failed(texts.join(": "))
}

fn running_pod(object: &Value) -> Health {
    if conditions(object).any(|condition| condition.kind == "Ready" && condition.is_true()) {
        return Health::Current;
    }
    let statuses = object["status"]["containerStatuses"].as_array();
    let crashing: Vec<&str> = statuses
        .into_iter()
        .flatten()
        .filter(|status| status["state"]["waiting"]["reason"] == "CrashLoopBackOff")
        .filter_map(|status| status["name"].as_str())
        .collect();
    if crashing.is_empty() {
        return in_progress("Pod is running but is not Ready");
    }
    Health::Failed(format!(
        "Containers in CrashLoop state: {}",
        crashing.join(",")
    ))
}

fn deployment(object: &Value) -> Health {
    if object["spec"]["paused"] == true {
        return paused_deployment(object);
    }
    let deadline = number(object, "/spec/progressDeadlineSeconds");
    let mut progressing = deadline.is_none_or(|deadline| deadline == i64::from(i32::MAX));
    let mut available = false;
    for condition in conditions(object) {
        match condition.kind {
            "Progressing"
                if condition.reason == "ProgressDeadlineExceeded"
                    && !precedes_spec(&condition, object) =>
            {
                return Health::Failed("Progress deadline exceeded".to_owned());
            }
            "Progressing" if condition.reason == "NewReplicaSetAvailable" => {
                progressing |= condition.is_true();
            }
            "Available" => available |= condition.is_true(),
            _ => {}
        }
    }
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    let replicas = count(object, "/status/replicas");
    let updated = count(object, "/status/updatedReplicas");
    let ready = count(object, "/status/readyReplicas");
    let available_replicas = count(object, "/status/availableReplicas");
    if desired > replicas {
        return in_progress(format!("Replicas: {replicas}/{desired}"));
    }
    if desired > updated {
        return in_progress(format!("Updated: {updated}/{desired}"));
    }
    if replicas > desired {
        return in_progress(format!("Pending termination: {}", replicas - desired));
    }
    if updated > available_replicas {
        return in_progress(format!("Available: {available_replicas}/{updated}"));
    }
    if desired > ready {
        return in_progress(format!("Ready: {ready}/{desired}"));
    }
    if !progressing {
        return in_progress("ReplicaSet not Available");
    }
    if !available {
        return in_progress("Deployment not Available");
    }
    Health::Current
}

/// Whether a condition was last updated before the spec was written. The Deployment controller keeps the condition of an
/// exceeded deadline until the next rollout progresses. Times are in seconds, and a deadline is at least one.
fn precedes_spec(condition: &Condition<'_>, object: &Value) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let entries = object["metadata"]["managedFields"].as_array();
    let written = entries.into_iter().flatten().filter_map(|entry| {
        let is_spec = entry["subresource"].as_str().unwrap_or_default().is_empty()
            && entry["fieldsV1"]["f:spec"].is_object();
        time(entry["time"].as_str().filter(|_| is_spec)?)
    });
    match (condition.updated_at.and_then(time), written.max()) {
        (Some(updated), Some(written)) => updated <= written,
        _ => false,
    }
}

/// A paused Deployment does not progress on purpose, but its pods must be available.
fn paused_deployment(object: &Value) -> Health {
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    let available = count(object, "/status/availableReplicas");
    if desired > available {
        return in_progress(format!(
            "Deployment is paused. Available: {available}/{desired}"
        ));
    }
    Health::Current
}

fn stateful_set(object: &Value) -> Health {
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    let replicas = count(object, "/status/replicas");
    let ready = count(object, "/status/readyReplicas");
    let current = count(object, "/status/currentReplicas");
    let updated = count(object, "/status/updatedReplicas");
    if desired > replicas {
        return in_progress(format!("Replicas: {replicas}/{desired}"));
    }
    if desired > ready {
        return in_progress(format!("Ready: {ready}/{desired}"));
    }
    if replicas > desired {
        return in_progress(format!("Pending termination: {}", replicas - desired));
    }
    // Pods are updated by whoever deletes them.
    if object["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return Health::Current;
    }
    if let Some(partition) = number(object, "/spec/updateStrategy/rollingUpdate/partition") {
        let expected = desired - partition;
        return if updated < expected {
            in_progress(format!("updated: {updated}/{expected}"))
        } else {
            Health::Current
        };
    }
    if desired > current {
        return in_progress(format!("current: {current}/{desired}"));
    }
    if object["status"]["currentRevision"] != object["status"]["updateRevision"] {
        return in_progress("Waiting for updated revision to match current");
    }
    Health::Current
}

fn daemon_set(object: &Value) -> Health {
    for (field, name) in [
        ("/metadata/generation", "metadata.generation"),
        ("/status/observedGeneration", "status.observedGeneration"),
    ] {
        if number(object, field).is_none() {
            return in_progress(format!("DaemonSet {name} not found"));
        }
    }
    let Some(desired) = number(object, "/status/desiredNumberScheduled") else {
        return in_progress("Missing .status.desiredNumberScheduled");
    };
    for (field, name) in [
        ("/status/currentNumberScheduled", "Current"),
        ("/status/updatedNumberScheduled", "Updated"),
        ("/status/numberAvailable", "Available"),
        ("/status/numberReady", "Ready"),
    ] {
        let actual = count(object, field);
        if desired > actual {
            return in_progress(format!("{name}: {actual}/{desired}"));
        }
    }
    Health::Current
}

fn replica_set(object: &Value) -> Health {
    if conditions(object).any(|condition| condition.kind == "ReplicaFailure" && condition.is_true())
    {
        return in_progress("Replica Failure condition. Check Pods");
    }
    let desired = number(object, "/spec/replicas").unwrap_or(1);
    for (field, name) in [
        ("/status/fullyLabeledReplicas", "Labelled"),
        ("/status/availableReplicas", "Available"),
        ("/status/readyReplicas", "Ready"),
    ] {
        let actual = count(object, field);
        if desired > actual {
            return in_progress(format!("{name}: {actual}/{desired}"));
        }
    }
    let replicas = count(object, "/status/replicas");
    if replicas > desired {
        return in_progress(format!("Pending termination: {}", replicas - desired));
    }
    Health::Current
}

/// A Job is current once it has started; only hooks must complete.
fn job(object: &Value) -> Health {
    if let Some(health) = finished_job(object) {
        return health;
    }
    match object["status"]["startTime"].as_str() {
        None | Some("") => in_progress("Job not started"),
        Some(_) => Health::Current,
    }
}

fn finished_job(object: &Value) -> Option<Health> {
    let desired = number(object, "/spec/completions")
        .or_else(|| number(object, "/spec/parallelism"))
        .unwrap_or(1);
    conditions(object).find_map(|condition| match condition.kind {
        "Complete" if condition.is_true() => Some(Health::Current),
        "Failed" if condition.is_true() => Some(Health::Failed(format!(
            "Job Failed. failed: {}/{desired}",
            count(object, "/status/failed")
        ))),
        _ => None,
    })
}

/// Assesses an object of a hook: Jobs and Pods must complete, other kinds are current at once.
pub(super) fn assess_hook(object: &Value) -> Health {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    match (api_version, object["kind"].as_str().unwrap_or_default()) {
        ("batch/v1", "Job") => {
            finished_job(object).unwrap_or_else(|| in_progress("Job in progress"))
        }
        ("v1", "Pod") => match object["status"]["phase"].as_str().unwrap_or_default() {
            "Succeeded" => Health::Current,
            "Failed" => Health::Failed(match conditions(object).find(|c| c.kind == "Ready") {
                Some(ready) => format!("Pod failed: {}", ready.text()),
                None => "Pod failed".to_owned(),
            }),
            _ => in_progress("Pod in progress"),
        },
        _ => Health::Current,
    }
}

fn crd(object: &Value) -> Health {
    for condition in conditions(object) {
        match (condition.kind, condition.status) {
            ("NamesAccepted", "False") => return Health::Failed(condition.text()),
            ("Established", "True") => return Health::Current,
            ("Established", "False") if condition.reason != "Installing" => {
                return Health::Failed(condition.text());
            }
            _ => {}
        }
    }
    in_progress("Install in progress")
}
