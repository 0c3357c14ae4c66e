//! `PrepareForCreate` and `PrepareForUpdate` of the strategies: system fields, generation, status, and fields that some
//! kinds derive from others.
//!
//! A write calls [`defaults::complete`](crate::defaults::complete), the mutating admission plugins, then [`create`] or [`update`] here,
//! then [`validation`](crate::validation), and for Services [`service::allocate`]. All functions take objects of the served
//! version.

use serde_json::{Map, Value, json};

use crate::apps::daemon_set;
use crate::batch::job;
use crate::certificates::certificate_signing_request;
use crate::core::{namespace, persistent_volume, persistent_volume_claim, pod, service_account};
use crate::defaults;
use crate::fields::{object_mut, set_or_remove};
use crate::kinds::Kind;

pub use crate::core::service::allocation as service;

/// The inputs of a create other than the object.
#[derive(Debug, Clone, Copy)]
pub struct Creation<'a> {
    /// The RFC 3339 timestamp of the request.
    pub now: &'a str,
    pub uid: &'a str,
    pub user: User<'a>,
}

/// The user of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct User<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub groups: &'a [String],
}

/// Prepares an object for create. Its name must be set.
pub fn create(kind: &Kind, object: &mut Value, creation: &Creation<'_>) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    system_fields(kind, object, creation);
    let keeps_status = matches!(
        kind.kind.as_str(),
        "Node" | "CustomResourceDefinition" | "ServiceCIDR"
    );
    if kind.has_status() && !keeps_status {
        // Built-in kinds get an empty status by defaulting, custom resources none.
        object.remove("status");
    }
    set_derived_fields(kind, object, creation);
    defaults::fill_again(kind, object);
}

fn system_fields(kind: &Kind, object: &mut Map<String, Value>, creation: &Creation<'_>) {
    let Some(metadata) = object_mut(object, "metadata") else {
        return;
    };
    for key in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(key);
    }
    metadata.insert("uid".to_owned(), creation.uid.into());
    metadata.insert("creationTimestamp".to_owned(), creation.now.into());
    if kind.writes.generation {
        metadata.insert("generation".to_owned(), 1.into());
    }
}

/// Sets the fields that a kind derives from others on create.
fn set_derived_fields(kind: &Kind, object: &mut Map<String, Value>, creation: &Creation<'_>) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::status::initialize(object, creation.now),
        ("batch", "Job") => job::generate_selector(object),
        ("", "Namespace") => namespace::add_finalizer(object),
        ("apps", "DaemonSet") => daemon_set::set_template_generation(object, 1),
        ("", "PersistentVolume") => {
            let status = json!({"phase": "Pending", "lastPhaseTransitionTime": creation.now});
            object.insert("status".to_owned(), status);
        }
        ("", "PersistentVolumeClaim") => persistent_volume_claim::sync_data_sources(object),
        ("", "ServiceAccount") => service_account::strip_secret_references(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            certificate_signing_request::set_requester(object, &creation.user);
        }
        _ => {}
    }
}

/// Prepares an object for update through the main resource.
pub fn update(kind: &Kind, new: &mut Value, old: &Value) {
    let Some(object) = new.as_object_mut() else {
        return;
    };
    keep_system_fields(object, old);
    if kind.has_status() {
        copy_field(object, old, "status");
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => {
            if let Some(spec) = object_mut(object, "spec") {
                copy_field(spec, &old["spec"], "finalizers");
            }
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => copy_field(object, old, "spec"),
        ("", "Service") => service::drop_type_dependent_fields(object, old),
        ("", "PersistentVolumeClaim") => persistent_volume_claim::sync_data_sources(object),
        ("", "ServiceAccount") => service_account::strip_secret_references(object),
        _ => {}
    }
    if kind.writes.generation {
        set_generation(kind, object, old);
    }
    defaults::fill_again(kind, object);
}

/// Prepares an object for update through the status subresource.
pub fn update_status(kind: &Kind, new: &mut Value, old: &Value, now: &str) {
    let Some(object) = new.as_object_mut() else {
        return;
    };
    keep_system_fields(object, old);
    // Of custom resources only the status can be changed, of built-in kinds also labels and annotations.
    if kind.custom.is_some() {
        let status = object.remove("status");
        let managed = object
            .get("metadata")
            .and_then(|metadata| metadata.get("managedFields"))
            .cloned();
        if let Value::Object(old) = old {
            object.clone_from(old);
        }
        set_or_remove(object, "status", status);
        if let Some(metadata) = object_mut(object, "metadata") {
            set_or_remove(metadata, "managedFields", managed);
        }
        return;
    }
    if let Value::Object(old_fields) = old {
        let kept = ["apiVersion", "kind", "metadata", "status"];
        object.retain(|key, _| kept.contains(&key.as_str()));
        for (key, value) in old_fields {
            if !kept.contains(&key.as_str()) {
                object.insert(key.clone(), value.clone());
            }
        }
    }
    keep_metadata_for_status(kind, object, old);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "PersistentVolume") => {
            persistent_volume::set_phase_transition_time(object, old, now);
        }
        ("", "Pod") => pod::status::keep_qos_class(object, old),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            certificate_signing_request::set_condition_times(object, old, now);
        }
        _ => {}
    }
    defaults::fill_again(kind, object);
}

fn keep_metadata_for_status(kind: &Kind, object: &mut Map<String, Value>, old: &Value) {
    let kept: &[&str] = match kind.kind.as_str() {
        "Deployment" => &["generation", "labels"],
        "Pod" => &["generation", "ownerReferences"],
        "ServiceCIDR" | "ResourceClaim" | "VolumeAttachment" | "ValidatingAdmissionPolicy" => &[
            "generation",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
        ],
        _ => &["generation"],
    };
    if let Some(metadata) = object_mut(object, "metadata") {
        for key in kept {
            copy_field(metadata, &old["metadata"], key);
        }
    }
}

/// Fields that clients cannot change.
fn keep_system_fields(object: &mut Map<String, Value>, old: &Value) {
    if let Some(metadata) = object_mut(object, "metadata") {
        for key in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "generateName",
        ] {
            let is_sent = metadata.contains_key(key);
            // These may be omitted; validation rejects changed values.
            let is_checked = matches!(key, "uid" | "generateName");
            // Only the server starts a deletion; validation rejects changed values.
            let is_terminating = key.starts_with("deletion") && !old["metadata"][key].is_null();
            let is_checked = is_checked || (key.starts_with("deletion") && !is_terminating);
            if !(is_checked && is_sent) {
                copy_field(metadata, &old["metadata"], key);
            }
        }
        metadata.remove("selfLink");
    }
}

/// Increments the generation if the spec changes, and for some kinds also if some metadata changes.
fn set_generation(kind: &Kind, object: &mut Map<String, Value>, old: &Value) {
    let is_daemon_set = (kind.group.as_str(), kind.kind.as_str()) == ("apps", "DaemonSet");
    if is_daemon_set {
        let changed = object["spec"]["template"] != old["spec"]["template"];
        let before = daemon_set::template_generation(old);
        daemon_set::set_template_generation(object, before.wrapping_add(i64::from(changed)));
    }
    let is_unchanged = |key: &str| {
        let new = object.get("metadata").and_then(|all| all.get(key));
        new == old["metadata"].get(key)
    };
    let changed = match (kind.group.as_str(), kind.kind.as_str()) {
        // Never incremented.
        ("scheduling.k8s.io", "PriorityClass") => false,
        ("apps", "Deployment") => {
            is_spec_changed(kind, object, old) || !is_unchanged("annotations")
        }
        ("discovery.k8s.io", "EndpointSlice") => {
            is_spec_changed(kind, object, old)
                || !is_unchanged("labels")
                || !is_unchanged("annotations")
        }
        _ => is_spec_changed(kind, object, old),
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
    if let Some(metadata) = object_mut(object, "metadata") {
        let generation = generation.wrapping_add(i64::from(changed));
        metadata.insert("generation".to_owned(), generation.into());
    }
}

/// Whether anything differs except metadata, and except the status if it has a subresource.
fn is_spec_changed(kind: &Kind, object: &Map<String, Value>, old: &Value) -> bool {
    let Value::Object(old) = old else {
        return true;
    };
    let is_spec = |key: &&String| match key.as_str() {
        "apiVersion" | "kind" | "metadata" => false,
        "status" => !kind.has_status(),
        _ => true,
    };
    let old_keys = old.keys().filter(is_spec);
    let new_keys = object.keys().filter(is_spec);
    old_keys
        .chain(new_keys)
        .any(|key| object.get(key) != old.get(key))
}

/// Copies a field of the old object, or removes it if the old object does not have it.
fn copy_field(object: &mut Map<String, Value>, old: &Value, key: &str) {
    set_or_remove(object, key, old.get(key).cloned());
}
