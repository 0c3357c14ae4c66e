//! Admission policies: which requests they match, and what their expressions say.

use std::sync::Arc;

use outrigger_builtin::fields::text;
use outrigger_cel::{Authorizer, ResourceCheck};
use serde_json::{Value, json};

use crate::{Attributes, ClusterState, Operation};

mod expression;
mod matching;
pub(crate) mod mutating;
mod params;
mod patch;
pub(crate) mod validating;

/// The group of the policies themselves, which no policy matches.
const OWN_GROUP: &str = "admissionregistration.k8s.io";

/// A policy with its bindings.
#[derive(Debug)]
pub struct BoundPolicy<P> {
    pub policy: Arc<P>,
    pub bindings: Vec<Value>,
}

impl<P> Clone for BoundPolicy<P> {
    fn clone(&self) -> Self {
        Self {
            policy: Arc::clone(&self.policy),
            bindings: self.bindings.clone(),
        }
    }
}

/// `failurePolicy: Ignore`.
fn ignores_failures(spec: &Value) -> bool {
    text(spec, "failurePolicy") == "Ignore"
}

/// The data of a request that expressions read beside the object.
struct RequestInfo {
    /// Null for an object outside of namespaces.
    namespace: Value,
    /// `AdmissionRequest`.
    value: Value,
    authorizer: Arc<dyn Authorizer>,
    /// `authorizer.requestResource`.
    resource: ResourceCheck,
}

impl RequestInfo {
    fn new(attributes: &Attributes<'_>, object: &Value, cluster: &dyn ClusterState) -> Self {
        let kind = attributes.kind;
        let is_namespace = kind.group.is_empty() && kind.kind == "Namespace";
        let namespace = if attributes.namespace.is_empty() || is_namespace {
            Value::Null
        } else {
            cluster.namespace(attributes.namespace).unwrap_or_default()
        };
        let gvk = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let gvr = json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        let user = attributes.user;
        let name = text(&object["metadata"], "name");
        let value = json!({
            "kind": gvk, "resource": gvr, "subResource": attributes.subresource,
            "requestKind": gvk, "requestResource": gvr, "requestSubResource": attributes.subresource,
            "name": name,
            "namespace": attributes.namespace,
            "operation": attributes.operation.name(),
            "userInfo": {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": {}},
            "dryRun": attributes.dry_run,
            "options": {},
        });
        Self {
            namespace,
            value,
            authorizer: cluster.authorizer(user),
            resource: ResourceCheck {
                group: kind.group.as_str().into(),
                resource: kind.plural.as_str().into(),
                subresource: attributes.subresource.into(),
                namespace: attributes.namespace.into(),
                name: name.into(),
            },
        }
    }
}

/// The data that expressions read.
struct Request<'a> {
    attributes: &'a Attributes<'a>,
    /// Null for a deletion.
    object: &'a Value,
    /// Null for a creation.
    old: &'a Value,
    info: &'a RequestInfo,
}

impl<'a> Request<'a> {
    fn new(attributes: &'a Attributes<'a>, object: &'a Value, info: &'a RequestInfo) -> Self {
        let (object, old) = match attributes.operation {
            Operation::Create => (object, &Value::Null),
            Operation::Update { old } => (object, old),
            Operation::Delete => (&Value::Null, object),
        };
        Self {
            attributes,
            object,
            old,
            info,
        }
    }

    fn name(&self) -> &str {
        text(&self.info.value, "name")
    }
}
