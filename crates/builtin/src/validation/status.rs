//! The status of workloads: numbers of Pods that cannot be.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::kinds::Kind;

const STATUS: Path<'static> = Path::root("status");

/// Which numbers of a kind's status are looked at, the whole first.
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

/// What is wrong with a status that is written through its own endpoint.
pub(super) fn check(kind: &Kind, object: &Value, errors: &mut Vec<Error>) {
    let status = &object["status"];
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let [whole, parts @ ..] = counts(kind) else {
        return;
    };
    for name in [whole].into_iter().chain(parts) {
        if count(name) < 0 {
            let detail = "must be greater than or equal to 0";
            errors.push(Error::invalid(&STATUS.child(name), count(name), detail));
        }
    }
    for name in parts {
        if count(name) > count(whole) {
            let detail = "cannot be greater than status.replicas";
            errors.push(Error::invalid(&STATUS.child(name), count(name), detail));
        }
    }
    let (ready, available) = (count("readyReplicas"), count("availableReplicas"));
    if available > ready {
        let place = STATUS.child("availableReplicas");
        let detail = "cannot be greater than readyReplicas";
        errors.push(Error::invalid(&place, available, detail));
    }
}
