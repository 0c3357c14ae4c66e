//! Validation of objects of the built-in kinds. The rules of each kind are in the module of the kind, such as
//! `apps::deployment`.
//!
//! It covers what users get wrong and clients rely on: names, labels, references, required fields, ranges, duplicates and
//! immutable fields. Field paths, messages and their order are those of kube-apiserver. Rare features (devices, Windows,
//! deprecated volume types) are not validated.
//!
//! kube-apiserver repeats some errors among the causes, because several of its validations cover the same field; here each
//! is reported once.
//!
//! Objects must have been defaulted by [`defaults::complete`](crate::defaults::complete), so that empty fields are absent.

use outrigger_apimachinery::status::field::Error;
use serde_json::Value;

use crate::admissionregistration;
use crate::apiextensions::custom_resource_definition;
use crate::apiregistration::api_service;
use crate::apps::{daemon_set, deployment, pod_controller, replica_set, stateful_set, status};
use crate::autoscaling::horizontal_pod_autoscaler;
use crate::batch::{cron_job, job};
use crate::coordination::lease;
use crate::core::{
    config_map, endpoints, event, limit_range, node, persistent_volume, persistent_volume_claim,
    pod, pod_template, replication_controller, resource_quota, secret, service,
};
use crate::discovery::endpoint_slice;
use crate::kinds::Kind;
use crate::networking::{ingress, ingress_class, network_policy};
use crate::policy::pod_disruption_budget;
use crate::rbac::{role, role_binding};
use crate::scheduling::priority_class;
use crate::storage::storage_class;

pub(crate) mod conditions;
pub(crate) mod field_checks;
pub(crate) mod label_selector;
pub(crate) mod metadata;
mod scale;

/// Validates an object that is created.
pub fn create(kind: &Kind, object: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::create(kind, object, &mut errors);
    validate_spec(kind, object, None, &mut errors);
    match group_and_kind(kind) {
        ("", "Pod") => pod::validate_create(object, &mut errors),
        ("events.k8s.io", "Event") => event::validate_create_events_v1(object, &mut errors),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            custom_resource_definition::validate_create(object, &mut errors);
        }
        _ => {}
    }
    if errors.is_empty() {
        metadata::create_generic(kind, object, &mut errors);
    }
    errors
}

/// Validates an update through the main resource.
pub fn update(kind: &Kind, new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::update(kind, new, old, &mut errors);
    validate_spec(kind, new, Some(old), &mut errors);
    validate_changes(kind, new, old, &mut errors);
    errors
}

/// Validates an update through the status subresource.
pub fn update_status(kind: &Kind, new: &Value, old: &Value) -> Vec<Error> {
    let mut errors = Vec::new();
    metadata::update(kind, new, old, &mut errors);
    match group_and_kind(kind) {
        ("batch", "Job") => job::status::validate(new, old, &mut errors),
        (admissionregistration::GROUP, name) => {
            admissionregistration::validate_status(name, new, &mut errors);
        }
        _ => status::validate(kind, new, &mut errors),
    }
    errors
}

/// Validates the fields that the scale subresource of a custom resource shows; for an update through the status
/// subresource those of the status.
pub fn scale(kind: &Kind, object: &Value, is_status: bool) -> Vec<Error> {
    let mut errors = Vec::new();
    let custom = kind.custom.as_ref();
    if let Some(declared) = custom.and_then(|custom| custom.scale.as_ref()) {
        if !is_status {
            scale::validate_spec(&mut errors, object, declared);
        }
        scale::validate_status(&mut errors, object, declared);
    }
    errors
}

fn group_and_kind(kind: &Kind) -> (&str, &str) {
    (&kind.group, &kind.kind)
}

type Validate = fn(&Value, &mut Vec<Error>);

/// Validates everything but the metadata.
fn validate_spec(kind: &Kind, object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let validate: Validate = match group_and_kind(kind) {
        (admissionregistration::GROUP, name) => {
            return admissionregistration::validate(name, object, old, errors);
        }
        ("", "Pod") => pod::validate,
        ("", "ConfigMap") => config_map::validate,
        ("", "Secret") => secret::validate,
        ("", "Service") => service::validate,
        ("", "Endpoints") => endpoints::validate,
        ("", "PersistentVolumeClaim") => persistent_volume_claim::validate,
        ("", "PersistentVolume") => persistent_volume::validate,
        ("", "ReplicationController") => replication_controller::validate,
        ("", "PodTemplate") => pod_template::validate,
        ("", "LimitRange") => limit_range::validate,
        ("", "ResourceQuota") => resource_quota::validate,
        ("", "Event") => event::validate,
        ("", "Node") => node::validate,
        ("apps", "Deployment") => deployment::validate,
        ("apps", "ReplicaSet") => replica_set::validate,
        ("apps", "StatefulSet") => stateful_set::validate,
        ("apps", "DaemonSet") => daemon_set::validate,
        ("batch", "Job") => job::validate,
        ("batch", "CronJob") => cron_job::validate,
        ("networking.k8s.io", "Ingress") => ingress::validate,
        ("networking.k8s.io", "IngressClass") => ingress_class::validate,
        ("networking.k8s.io", "NetworkPolicy") => network_policy::validate,
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice::validate,
        ("autoscaling", "HorizontalPodAutoscaler") => horizontal_pod_autoscaler::validate,
        ("policy", "PodDisruptionBudget") => pod_disruption_budget::validate,
        ("rbac.authorization.k8s.io", "Role") => role::validate_role,
        ("rbac.authorization.k8s.io", "ClusterRole") => role::validate_cluster_role,
        ("rbac.authorization.k8s.io", "RoleBinding") => role_binding::validate_role_binding,
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => {
            role_binding::validate_cluster_role_binding
        }
        ("storage.k8s.io", "StorageClass") => storage_class::validate,
        ("events.k8s.io", "Event") => event::validate_events_v1,
        ("coordination.k8s.io", "Lease") => lease::validate,
        ("scheduling.k8s.io", "PriorityClass") => priority_class::validate,
        ("apiregistration.k8s.io", "APIService") => api_service::validate,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            custom_resource_definition::validate
        }
        _ => return,
    };
    validate(object, errors);
}

/// Validates changes: immutable fields and the like.
fn validate_changes(kind: &Kind, new: &Value, old: &Value, errors: &mut Vec<Error>) {
    let validate: fn(&Value, &Value, &mut Vec<Error>) = match group_and_kind(kind) {
        ("", "Pod") => pod::validate_update,
        ("", "ConfigMap") => config_map::validate_update,
        ("", "Secret") => secret::validate_update,
        ("", "Service") => service::validate_update,
        ("", "PersistentVolumeClaim") => persistent_volume_claim::validate_update,
        ("", "PersistentVolume") => persistent_volume::validate_update,
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => {
            pod_controller::validate_selector_update
        }
        ("apps", "StatefulSet") => stateful_set::validate_update,
        ("batch", "Job") => job::validate_update,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            role_binding::validate_update
        }
        ("events.k8s.io", "Event") => event::validate_update_events_v1,
        ("storage.k8s.io", "StorageClass") => storage_class::validate_update,
        ("scheduling.k8s.io", "PriorityClass") => priority_class::validate_update,
        ("networking.k8s.io", "IngressClass") => ingress_class::validate_update,
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice::validate_update,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            custom_resource_definition::validate_update
        }
        _ => return,
    };
    validate(new, old, errors);
}

#[cfg(test)]
mod tests;
