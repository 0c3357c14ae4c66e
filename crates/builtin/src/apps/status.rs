//! Validation of the replica counts in the status of workloads.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::kinds::Kind;

const STATUS: Path<'static> = Path::root("status");

/// The counters in the status of a kind, the total first.
fn counts(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment") => &[
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
        ],
        ("apps", "ReplicaSet") | ("", "ReplicationController") => &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
        ],
        _ => &[],
    }
}

/// Validates an update through the status subresource.
pub(crate) fn validate(kind: &Kind, object: &Value, errors: &mut Vec<Error>) {
    let status = &object["status"];
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let [total, parts @ ..] = counts(kind) else {
        return;
    };
    for name in [total].into_iter().chain(parts) {
        if count(name) < 0 {
            let detail = "must be greater than or equal to 0";
            errors.push(Error::invalid(&STATUS.child(name), count(name), detail));
        }
    }
    for name in parts {
        if count(name) > count(total) {
            let detail = "cannot be greater than status.replicas";
            errors.push(Error::invalid(&STATUS.child(name), count(name), detail));
        }
    }
    let (ready, available) = (count("readyReplicas"), count("availableReplicas"));
    if available > ready {
        let field = STATUS.child("availableReplicas");
        let detail = "cannot be greater than readyReplicas";
        errors.push(Error::invalid(&field, available, detail));
    }
}
