//! Registry strategies: the hooks with which a kind customizes the generic verbs, after kube-apiserver's
//! `rest.RESTCreateStrategy` and its siblings. Each is implemented in the module of its kind.
//!
//! The server calls the strategy of [`Kind`](crate::kinds::Kind) and knows no kind by name. Hooks are pure; what
//! creation and updates derive from other fields is in [`prepare`](crate::prepare).

use std::fmt::Debug;

use outrigger_apimachinery::status::{Status, field};
use serde_json::Value;

use crate::admissionregistration::webhook_configuration;
use crate::apiextensions::custom_resource_definition;
use crate::apiregistration::api_service;
use crate::apps::daemon_set;
use crate::core::service::allocation::{self, Allocator};
use crate::core::{namespace, replication_controller};
use crate::selector::LabelSelector;

#[cfg(test)]
mod tests;

pub use crate::apiextensions::custom_resource_definition::strategy::{
    CLEANUP_FINALIZER, remove_cleanup_finalizer,
};
pub use crate::core::pod::binding::assign_node;
pub use crate::core::pod::status::qos_class;

/// What the generic verbs do differently for one kind. The defaults fit most kinds.
pub trait Strategy: Debug + Send + Sync {
    /// Adds what the conversion of the decoded object to its internal version adds.
    fn after_decode(&self, _object: &mut Value) {}

    fn prepare_for_create(&self, _object: &mut Value) {}

    /// Prepares an update of the main resource; subresources have their own rules.
    fn prepare_for_update(&self, _object: &mut Value) {}

    /// Validates the schemas in an object; other fields are up to [`validation`](crate::validation).
    fn validate_schemas(&self, _object: &Value) -> Vec<field::Error> {
        Vec::new()
    }

    /// Which extension the server would have to call for this object: it calls none.
    fn required_extension(&self, _object: &Value) -> Option<&'static str> {
        None
    }

    /// Whether objects hold addresses and ports of the cluster: the server calls [`Strategy::allocate`] before it
    /// stores one, and releases them when it is gone.
    fn allocates(&self) -> bool {
        false
    }

    /// Allocates addresses and ports for a new object, or for one that replaces `old`.
    fn allocate(
        &self,
        _object: &mut Value,
        _old: Option<&Value>,
        _allocator: &mut dyn Allocator,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// The label selector in the `scale` subresource of an object.
    fn scale_selector(&self, object: &Value) -> Option<String> {
        Some(LabelSelector::of_object(&object["spec"]["selector"])?.to_string())
    }

    /// Rejects the deletion of an object that every cluster must have, with the reason.
    fn check_delete(&self, _name: &str) -> Result<(), &'static str> {
        Ok(())
    }

    /// Whether a controller deletes the contents of an object before the object itself is removed, so that the object
    /// stays even if it has no finalizers.
    fn deletes_contents_first(&self) -> bool {
        false
    }

    /// Changes an object whose deletion begins; `deletionTimestamp` is set already.
    fn begin_deletion(&self, object: &mut Value, _now: &str) {
        raise_generation(object);
    }

    /// Whether no finalizer keeps an object that is being deleted.
    fn is_finalized(&self, object: &Value) -> bool {
        is_empty(&object["metadata"]["finalizers"])
    }
}

/// The strategy of kinds without hooks, custom resources among them.
#[derive(Debug)]
pub struct Generic;

impl Strategy for Generic {}

/// The strategy of a built-in kind.
pub fn for_kind(group: &str, kind: &str) -> &'static dyn Strategy {
    match (group, kind) {
        ("", "Namespace") => &namespace::Namespace,
        ("", "ReplicationController") => &replication_controller::ReplicationController,
        ("", "Service") => &allocation::Service,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &webhook_configuration::WebhookConfiguration,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            &custom_resource_definition::strategy::CustomResourceDefinition
        }
        ("apiregistration.k8s.io", "APIService") => &api_service::ApiService,
        ("apps", "DaemonSet") => &daemon_set::DaemonSet,
        _ => &Generic,
    }
}

/// Counts the beginning of a deletion as a change of the desired state.
pub fn raise_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = generation.wrapping_add(1).into();
    }
}

pub(crate) fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// Deletions of contents have no deadline.
pub(crate) fn remove_grace_period(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("deletionGracePeriodSeconds");
    }
}
