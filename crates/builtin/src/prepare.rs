//! What the server itself sets when an object is written: system fields, generation, status, and what some kinds
//! derive from the rest.
//!
//! The order of a write is: [`defaults::complete`](crate::defaults::complete), [`admission`], then [`create`] or
//! [`update`] here, then [`validation`](crate::validation), then for Services [`service::allocate`]. All functions
//! work on the form that is served; none of them fails.

use serde_json::{Map, Value, json};

use crate::defaults;
use crate::fields::{object_mut, set_or_remove};
use crate::kinds::Kind;

pub mod admission;
mod job;
mod pod;
pub mod service;
mod volume;

/// What a creation takes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Creation<'a> {
    /// The time, as objects have it.
    pub now: &'a str,
    pub uid: &'a str,
    pub user: User<'a>,
}

/// Who makes a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct User<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub groups: &'a [String],
}

/// Prepares an object that is to be created. Its name is known already.
pub fn create(kind: &Kind, object: &mut Value, creation: &Creation<'_>) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    system_fields(kind, object, creation);
    let is_kept = matches!(
        kind.kind.as_str(),
        "Node" | "CustomResourceDefinition" | "ServiceCIDR"
    );
    if kind.has_status() && !is_kept {
        // A built-in kind always has a status; a custom resource has one when it has something to tell.
        object.remove("status");
    }
    derive(kind, object, creation);
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

/// Fields that follow from others when an object is created.
fn derive(kind: &Kind, object: &mut Map<String, Value>, creation: &Creation<'_>) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::create(object, creation.now),
        ("batch", "Job") => job::generate_selector(object),
        ("", "Namespace") => add_namespace_finalizer(object),
        ("apps", "DaemonSet") => set_template_generation(object, 1),
        ("", "PersistentVolume") => {
            let status = json!({"phase": "Pending", "lastPhaseTransitionTime": creation.now});
            object.insert("status".to_owned(), status);
        }
        ("", "PersistentVolumeClaim") => volume::match_data_sources(object),
        ("", "ServiceAccount") => clean_secret_references(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            set_requester(object, &creation.user);
        }
        _ => {}
    }
}

/// Prepares an object that replaces another through the main endpoint.
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
        ("", "Service") => service::drop_fields_of_old_type(object, old),
        ("", "PersistentVolumeClaim") => volume::match_data_sources(object),
        ("", "ServiceAccount") => clean_secret_references(object),
        _ => {}
    }
    if kind.writes.generation {
        set_generation(kind, object, old);
    }
    defaults::fill_again(kind, object);
}

/// Prepares an object that is written through its status endpoint.
pub fn update_status(kind: &Kind, new: &mut Value, old: &Value, now: &str) {
    let Some(object) = new.as_object_mut() else {
        return;
    };
    keep_system_fields(object, old);
    // A custom resource keeps all but its status; of a built-in kind labels and annotations can be changed too.
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
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "PersistentVolume") {
        volume::note_phase_transition(object, old, now);
    }
    if (kind.group.as_str(), kind.kind.as_str()) == ("", "Pod") {
        pod::keep_quality_of_service(object, old);
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

/// What no client can change.
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
            // A name that was generated may be left out; what differs from the old is refused later.
            let is_checked = matches!(key, "uid" | "generateName");
            // Nobody but the server begins a deletion; that too is refused later.
            let is_begun = key.starts_with("deletion") && !old["metadata"][key].is_null();
            let is_checked = is_checked || (key.starts_with("deletion") && !is_begun);
            if !(is_checked && is_sent) {
                copy_field(metadata, &old["metadata"], key);
            }
        }
        metadata.remove("selfLink");
    }
}

/// The generation counts changes of what is desired, and for a few kinds of some metadata.
fn set_generation(kind: &Kind, object: &mut Map<String, Value>, old: &Value) {
    let is_daemon_set = (kind.group.as_str(), kind.kind.as_str()) == ("apps", "DaemonSet");
    if is_daemon_set {
        let changed = object["spec"]["template"] != old["spec"]["template"];
        let before = template_generation(old);
        set_template_generation(object, if changed { before + 1 } else { before });
    }
    let same_metadata = |key: &str| {
        let new = object.get("metadata").and_then(|all| all.get(key));
        new == old["metadata"].get(key)
    };
    let changed = match (kind.group.as_str(), kind.kind.as_str()) {
        // Only ever the first.
        ("scheduling.k8s.io", "PriorityClass") => false,
        ("apps", "Deployment") => differs(kind, object, old) || !same_metadata("annotations"),
        ("discovery.k8s.io", "EndpointSlice") => {
            differs(kind, object, old) || !same_metadata("labels") || !same_metadata("annotations")
        }
        _ => differs(kind, object, old),
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
    if let Some(metadata) = object_mut(object, "metadata") {
        let generation = if changed { generation + 1 } else { generation };
        metadata.insert("generation".to_owned(), generation.into());
    }
}

/// Whether anything but metadata and, where it has its own endpoint, status differs.
fn differs(kind: &Kind, object: &Map<String, Value>, old: &Value) -> bool {
    let Value::Object(old) = old else {
        return true;
    };
    let is_desired = |key: &&String| match key.as_str() {
        "apiVersion" | "kind" | "metadata" => false,
        "status" => !kind.has_status(),
        _ => true,
    };
    let old_keys = old.keys().filter(is_desired);
    let new_keys = object.keys().filter(is_desired);
    old_keys
        .chain(new_keys)
        .any(|key| object.get(key) != old.get(key))
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(set: &Value) -> i64 {
    let annotation = &set["metadata"]["annotations"][TEMPLATE_GENERATION];
    let generation = annotation.as_str().and_then(|text| text.parse().ok());
    generation.unwrap_or(1)
}

fn set_template_generation(set: &mut Map<String, Value>, generation: i64) {
    let annotations =
        object_mut(set, "metadata").and_then(|metadata| object_mut(metadata, "annotations"));
    if let Some(annotations) = annotations {
        let text = generation.to_string();
        annotations.insert(TEMPLATE_GENERATION.to_owned(), text.into());
    }
}

fn add_namespace_finalizer(namespace: &mut Map<String, Value>) {
    let Some(spec) = object_mut(namespace, "spec") else {
        return;
    };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}

/// A service account names Secrets of its own namespace: only the names count.
fn clean_secret_references(account: &mut Map<String, Value>) {
    let references = account.get_mut("secrets").and_then(Value::as_array_mut);
    for reference in references.into_iter().flatten() {
        if let Value::Object(reference) = reference {
            reference.retain(|key, _| key == "name");
        }
    }
}

fn set_requester(request: &mut Map<String, Value>, user: &User<'_>) {
    if let Some(spec) = object_mut(request, "spec") {
        for key in ["username", "uid", "groups", "extra"] {
            spec.remove(key);
        }
        for (key, text) in [("username", user.name), ("uid", user.uid)] {
            if !text.is_empty() {
                spec.insert(key.to_owned(), text.into());
            }
        }
        if !user.groups.is_empty() {
            spec.insert("groups".to_owned(), json!(user.groups));
        }
    }
}

/// Copies a field of the old object, or removes it if the old object does not have it.
fn copy_field(object: &mut Map<String, Value>, old: &Value, key: &str) {
    set_or_remove(object, key, old.get(key).cloned());
}
