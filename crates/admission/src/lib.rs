//! The default admission plugins of kube-apiserver, one file each: pure decisions over the objects of the cluster.
//!
//! A write calls [`mutate`] before the strategy prepares the object, [`validate`] after validation, and commits the
//! [`Charge`]s of [`charge`] together with the object. [`quota`] measures what objects use.

// Clients choose the operands: overflow must be handled, not panic.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::sync::Arc;

use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::prepare::User;
use outrigger_cel::Authorizer;
use outrigger_structural::schema::Schema;
use serde_json::Value;

mod default_class;
mod default_toleration_seconds;
mod limit_ranger;
mod policy;
mod priority;
pub mod quota;
mod resource_list;
mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;
#[cfg(test)]
mod tests;
mod total_resources;

pub use policy::BoundPolicy;
pub use policy::mutating::MutatingPolicy;
use policy::mutating::{self, Pass};
pub use policy::validating::ValidatingPolicy;
pub use priority::Priority;
pub use resource_quota::Charge;

/// What a write does with the object.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'a> {
    Create,
    Update { old: &'a Value },
    Delete,
}

impl Operation<'_> {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update { .. } => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The kind of the parameters of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamKind<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
}

/// `admission.Attributes`: the write, apart from its object.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    pub kind: &'a Kind,
    pub operation: Operation<'a>,
    /// Empty for the main resource.
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub user: User<'a>,
    pub dry_run: bool,
}

impl Attributes<'_> {
    fn is_create(&self) -> bool {
        matches!(self.operation, Operation::Create)
    }

    /// The resource that plugins know the kind by: its group and plural.
    fn resource(&self) -> (&str, &str) {
        (&self.kind.group, &self.kind.plural)
    }

    fn forbidden(&self, name: &str, why: impl std::fmt::Display) -> Status {
        let resource = GroupResource::new(&self.kind.group, &self.kind.plural);
        Status::forbidden(resource, name, why)
    }
}

/// The cluster state that admission plugins look up.
pub trait ClusterState {
    /// A `PriorityClass` by name.
    fn priority_class(&self, name: &str) -> Option<Priority>;
    /// The default `PriorityClass`.
    fn default_priority_class(&self) -> Option<Priority>;
    /// A `ServiceAccount` of the namespace of the Pod.
    fn service_account(&self, namespace: &str, name: &str) -> Option<Value>;
    /// The default `StorageClass`.
    fn default_storage_class(&self) -> Option<String>;
    /// The default `IngressClass`.
    fn default_ingress_class(&self) -> Option<String>;
    /// A `RuntimeClass` by name.
    fn runtime_class(&self, name: &str) -> Option<Value>;
    /// The `LimitRange` objects of a namespace.
    fn limit_ranges(&self, namespace: &str) -> Vec<Value>;
    /// The `ResourceQuota` objects of a namespace.
    fn resource_quotas(&self, namespace: &str) -> Vec<Value>;
    /// The validating admission policies that have bindings.
    fn validating_policies(&self) -> Vec<BoundPolicy<ValidatingPolicy>>;
    /// The mutating admission policies that have bindings.
    fn mutating_policies(&self) -> Vec<BoundPolicy<MutatingPolicy>>;
    /// The schema that the objects of a kind are merged with.
    fn schema(&self, kind: &Kind) -> Schema;
    fn namespace(&self, name: &str) -> Option<Value>;
    /// Decides what the user of the request may do.
    fn authorizer(&self, user: User<'_>) -> Arc<dyn Authorizer>;
    /// Whether objects of a kind are in namespaces; `None` if there is no such kind.
    fn is_namespaced(&self, kind: ParamKind<'_>) -> Option<bool>;
    /// The objects of a kind in a namespace, or outside of namespaces.
    fn params(&self, kind: ParamKind<'_>, namespace: &str) -> Vec<Value>;
    /// Five random characters for the name of the token volume.
    fn random_suffix(&self) -> Result<String, Status>;
}

/// Runs the mutating plugins on an object. They run again if a policy has changed the object.
///
/// # Errors
/// A plugin rejects the object.
pub fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    mutate_kind(attributes, object, cluster)?;
    if let Some(again) = mutating::mutate(attributes, object, cluster, Pass::First)? {
        mutate_kind(attributes, object, cluster)?;
        mutating::mutate(attributes, object, cluster, Pass::Reinvocation(&again))?;
    }
    Ok(())
}

/// The plugins that are about single kinds.
fn mutate_kind(
    attributes: &Attributes<'_>,
    object: &mut Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    if !attributes.is_create() || !attributes.subresource.is_empty() {
        return Ok(());
    }
    match attributes.resource() {
        ("", "pods") => {
            limit_ranger::mutate(attributes, object, cluster);
            service_account::mutate(attributes, object, cluster)?;
            priority::mutate(attributes, object, cluster)?;
            default_toleration_seconds::mutate(object);
            runtime_class::mutate(attributes, object, cluster)?;
        }
        ("", "persistentvolumeclaims") => {
            default_class::mutate_claim(object, cluster);
            storage_object_in_use_protection::mutate(object, "kubernetes.io/pvc-protection");
        }
        ("networking.k8s.io", "ingresses") => default_class::mutate_ingress(object, cluster),
        ("", "persistentvolumes") => {
            storage_object_in_use_protection::mutate(object, "kubernetes.io/pv-protection");
        }
        ("", "nodes") => taint_nodes_by_condition::mutate(object),
        _ => {}
    }
    Ok(())
}

/// Runs the validating plugins, except [`charge`], on an object that is about to be stored or deleted. Returns warnings.
///
/// # Errors
/// A plugin rejects the object.
pub fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<Vec<String>, Status> {
    validate_kind(attributes, object, cluster)?;
    policy::validating::validate(attributes, object, cluster)
}

/// The plugins that are about single kinds.
fn validate_kind(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<(), Status> {
    if !attributes.subresource.is_empty() || matches!(attributes.operation, Operation::Delete) {
        return Ok(());
    }
    match attributes.resource() {
        ("", "pods") if attributes.is_create() => {
            limit_ranger::validate(attributes, object, cluster)?;
            runtime_class::validate(attributes, object, cluster)
        }
        ("", "persistentvolumeclaims") => limit_ranger::validate(attributes, object, cluster),
        ("scheduling.k8s.io", "priorityclasses") => priority::validate(attributes, object, cluster),
        _ => Ok(()),
    }
}

/// Charges an object to the quotas of its namespace: the last plugin, `ResourceQuota`.
///
/// # Errors
/// The object does not fit into a quota.
pub fn charge(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<Vec<Charge>, Status> {
    resource_quota::charge(attributes, object, cluster)
}
