//! Whether an object of a built-in kind is right, and what is said if not.
//!
//! Checked is what people get wrong and clients rely on: names, labels, references, required fields, ranges,
//! duplicates, and what cannot be changed. Field paths, texts and order are those of the real server. Rare features
//! (devices, Windows, deprecated volume types) are not looked into: they pass here and may be refused there.
//!
//! The real server repeats some errors among the causes, because several of its checks look at the same field; here
//! each is told once.
//!
//! Objects have gone through [`defaults::complete`](crate::defaults::complete), so that empty fields are absent.

use outrigger_apimachinery::status::field::Error;
use serde_json::Value;

use crate::kinds::Kind;

mod access;
mod admission;
mod autoscaling;
mod config;
mod definition;
mod endpoints;
mod event;
mod field_checks;
mod ingress;
mod job;
mod job_status;
mod limits;
mod metadata;
mod network_policy;
mod pod;
mod selector;
mod service;
mod small_kinds;
mod status;
mod volume_claim;
mod workload;

/// What is wrong with an object that is to be created.
pub fn create(kind: &Kind, object: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::create(kind, object, &mut errors);
    spec(kind, object, &mut errors);
    match name_of(kind) {
        ("", "Pod") => pod::create_only(object, &mut errors),
        ("events.k8s.io", "Event") => event::create(object, &mut errors),
        _ => {}
    }
    if errors.is_empty() {
        metadata::create_generic(kind, object, &mut errors);
    }
    errors
}

/// What is wrong with an object that is to replace another.
pub fn update(kind: &Kind, new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::update(new, old, &mut errors);
    spec(kind, new, &mut errors);
    immutable(kind, new, old, &mut errors);
    errors
}

/// What is wrong with an object that is written through its status endpoint.
pub fn update_status(kind: &Kind, new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::update(new, old, &mut errors);
    match name_of(kind) {
        ("batch", "Job") => job_status::check(new, old, &mut errors),
        _ => status::check(kind, new, &mut errors),
    }
    errors
}

fn name_of(kind: &Kind) -> (&str, &str) {
    (&kind.group, &kind.kind)
}

type Check = fn(&Value, &mut Vec<Error>);

/// The check of all but the metadata.
fn spec(kind: &Kind, object: &Value, errors: &mut Vec<Error>) {
    let check: Check = match name_of(kind) {
        ("", "Pod") => pod::check,
        ("", "ConfigMap") => config::config_map,
        ("", "Secret") => config::secret,
        ("", "Service") => service::check,
        ("", "Endpoints") => endpoints::endpoints,
        ("", "PersistentVolumeClaim") => volume_claim::claim,
        ("", "PersistentVolume") => volume_claim::volume,
        ("", "ReplicationController") => workload::replication_controller,
        ("", "PodTemplate") => workload::pod_template,
        ("", "LimitRange") => limits::limit_range,
        ("", "ResourceQuota") => limits::resource_quota,
        ("", "Event") => event::core,
        ("", "Node") => small_kinds::node,
        ("apps", "Deployment") => workload::deployment,
        ("apps", "ReplicaSet") => workload::replica_set,
        ("apps", "StatefulSet") => workload::stateful_set,
        ("apps", "DaemonSet") => workload::daemon_set,
        ("batch", "Job") => job::job,
        ("batch", "CronJob") => job::cron_job,
        ("networking.k8s.io", "Ingress") => ingress::check,
        ("networking.k8s.io", "IngressClass") => small_kinds::ingress_class,
        ("networking.k8s.io", "NetworkPolicy") => network_policy::check,
        ("discovery.k8s.io", "EndpointSlice") => endpoints::slice,
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::check,
        ("policy", "PodDisruptionBudget") => small_kinds::disruption_budget,
        ("rbac.authorization.k8s.io", "Role") => access::role,
        ("rbac.authorization.k8s.io", "ClusterRole") => access::cluster_role,
        ("rbac.authorization.k8s.io", "RoleBinding") => access::role_binding,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => access::cluster_role_binding,
        ("storage.k8s.io", "StorageClass") => small_kinds::storage_class,
        ("events.k8s.io", "Event") => event::current,
        ("coordination.k8s.io", "Lease") => small_kinds::lease,
        ("scheduling.k8s.io", "PriorityClass") => small_kinds::priority_class,
        ("apiregistration.k8s.io", "APIService") => small_kinds::api_service,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition::check,
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => admission::check,
        _ => return,
    };
    check(object, errors);
}

/// The check of what cannot be changed.
fn immutable(kind: &Kind, new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let check: fn(&Value, &Value, &mut Vec<Error>) = match name_of(kind) {
        ("", "Pod") => pod::update,
        ("", "ConfigMap") => config::config_map_update,
        ("", "Secret") => config::secret_update,
        ("", "Service") => service::update,
        ("", "PersistentVolumeClaim") => volume_claim::claim_update,
        ("", "PersistentVolume") => volume_claim::volume_update,
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => workload::selector_update,
        ("apps", "StatefulSet") => workload::stateful_set_update,
        ("batch", "Job") => job::update,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            access::binding_update
        }
        ("events.k8s.io", "Event") => event::update,
        ("storage.k8s.io", "StorageClass") => small_kinds::storage_class_update,
        ("scheduling.k8s.io", "PriorityClass") => small_kinds::priority_class_update,
        ("networking.k8s.io", "IngressClass") => small_kinds::ingress_class_update,
        ("discovery.k8s.io", "EndpointSlice") => endpoints::slice_update,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition::update,
        _ => return,
    };
    check(new, old, errors);
}

#[cfg(test)]
mod tests;
