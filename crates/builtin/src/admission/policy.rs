//! Admission policies: which requests they match, and what their expressions say.

use std::sync::Arc;

use outrigger_apimachinery::status::{Cause, Reason, Status};
use serde_json::{Value, json};

use super::{Attributes, ClusterState, Operation};
use crate::fields::{list, text, texts};

mod expression;
mod matching;
mod params;

pub use expression::Policy;
pub(crate) use expression::{Expected, check_expression};

/// The group of the policies themselves, which no policy matches.
const OWN_GROUP: &str = "admissionregistration.k8s.io";

/// A policy with its bindings.
#[derive(Debug, Clone)]
pub struct BoundPolicy {
    pub policy: Arc<Policy>,
    pub bindings: Vec<Value>,
}

/// What a policy says about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) message: String,
    pub(super) reason: Reason,
}

impl Denial {
    fn invalid(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            reason: Reason::Invalid,
        }
    }
}

/// `ValidatingAdmissionPolicy`: rejects a request that a policy denies. Returns the warnings of others.
pub(super) fn validate(
    attributes: &Attributes<'_>,
    object: &Value,
    cluster: &dyn ClusterState,
) -> Result<Vec<String>, Status> {
    if attributes.kind.group == OWN_GROUP {
        return Ok(Vec::new());
    }
    let policies = cluster.validating_policies();
    if policies.is_empty() {
        return Ok(Vec::new());
    }
    let request = Request::new(attributes, object, cluster);
    let mut warnings = Vec::new();
    for BoundPolicy { policy, bindings } in &policies {
        if !matching::matches(&policy.spec["matchConstraints"], &request) {
            continue;
        }
        for binding in bindings {
            if !matching::matches(&binding["spec"]["matchResources"], &request) {
                continue;
            }
            let denials = evaluate(policy, binding, &request, cluster);
            let actions = list(&binding["spec"], "validationActions");
            for denial in denials {
                let names = (policy.name.as_str(), text(&binding["metadata"], "name"));
                if texts(actions).any(|action| action == "Warn") {
                    warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        names.0, names.1, denial.message
                    ));
                }
                if texts(actions).any(|action| action == "Deny") {
                    return Err(denied(attributes, &request, names, &denial));
                }
            }
        }
    }
    Ok(warnings)
}

/// The denials of all parameters of a binding.
fn evaluate(
    policy: &Policy,
    binding: &Value,
    request: &Request<'_>,
    cluster: &dyn ClusterState,
) -> Vec<Denial> {
    let params = match params::collect(policy, binding, request.attributes.namespace, cluster) {
        Ok(params) => params,
        Err(_) if policy.ignores_failures() => return Vec::new(),
        Err(why) => {
            return vec![Denial::invalid(format!(
                "failed to configure binding: {why}"
            ))];
        }
    };
    params
        .iter()
        .flat_map(|params| policy.evaluate(request, params))
        .collect()
}

fn denied(
    attributes: &Attributes<'_>,
    request: &Request<'_>,
    (policy, binding): (&str, &str),
    denial: &Denial,
) -> Status {
    let message = format!(
        "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {}",
        denial.message
    );
    let mut status = attributes.forbidden(text(&request.value, "name"), &message);
    status.reason = Some(denial.reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            message,
            ..Cause::default()
        });
    }
    status
}

/// The data that expressions read.
pub(super) struct Request<'a> {
    attributes: &'a Attributes<'a>,
    /// Null for a deletion.
    object: &'a Value,
    /// Null for a creation.
    old: &'a Value,
    /// Null for an object outside of namespaces.
    namespace: Value,
    /// `AdmissionRequest`.
    value: Value,
}

impl<'a> Request<'a> {
    fn new(attributes: &'a Attributes<'a>, object: &'a Value, cluster: &dyn ClusterState) -> Self {
        let kind = attributes.kind;
        let is_namespace = kind.group.is_empty() && kind.kind == "Namespace";
        let namespace = if attributes.namespace.is_empty() || is_namespace {
            Value::Null
        } else {
            cluster.namespace(attributes.namespace).unwrap_or_default()
        };
        let (object, old) = match attributes.operation {
            Operation::Create => (object, &Value::Null),
            Operation::Update { old } => (object, old),
            Operation::Delete => (&Value::Null, object),
        };
        let named = if object.is_null() { old } else { object };
        let gvk = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let gvr = json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        let user = attributes.user;
        let value = json!({
            "kind": gvk, "resource": gvr, "subResource": attributes.subresource,
            "requestKind": gvk, "requestResource": gvr, "requestSubResource": attributes.subresource,
            "name": text(&named["metadata"], "name"),
            "namespace": attributes.namespace,
            "operation": attributes.operation.name(),
            "userInfo": {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": {}},
            "dryRun": attributes.dry_run,
            "options": {},
        });
        Self {
            attributes,
            object,
            old,
            namespace,
            value,
        }
    }
}
