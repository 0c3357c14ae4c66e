//! Detects changes of immutable fields before anything is changed.
//!
//! Covers only fields that the API server compares literally and never normalizes.

use serde_json::Value;

use super::{Rejection, is_terminating};
use crate::desired::{Desired, Object};
use crate::managed_fields::is_empty_value;
use crate::observe::Observed;

/// Immutable fields by API group and kind.
const FIELDS: &[(&str, &str, &[&str])] = &[
    ("apps", "Deployment", &["/spec/selector/matchLabels"]),
    ("apps", "DaemonSet", &["/spec/selector/matchLabels"]),
    ("apps", "ReplicaSet", &["/spec/selector/matchLabels"]),
    (
        "apps",
        "StatefulSet",
        &[
            "/spec/selector/matchLabels",
            "/spec/serviceName",
            "/spec/podManagementPolicy",
        ],
    ),
    (
        "rbac.authorization.k8s.io",
        "RoleBinding",
        &["/roleRef/kind", "/roleRef/name"],
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        &["/roleRef/kind", "/roleRef/name"],
    ),
    ("", "Secret", &["/type"]),
    (
        "",
        "PersistentVolumeClaim",
        &["/spec/storageClassName", "/spec/accessModes"],
    ),
    ("storage.k8s.io", "StorageClass", &["/provisioner"]),
    ("scheduling.k8s.io", "PriorityClass", &["/value"]),
];

pub(super) fn check(desired: &Desired, observed: &Observed) -> Result<(), Rejection> {
    for object in desired.objects() {
        if let Some(live) = observed.live(object.id())
            && !is_terminating(live)
        {
            check_object(object, live)?;
        }
    }
    Ok(())
}

fn check_object(object: &Object, live: &Value) -> Result<(), Rejection> {
    let id = object.id();
    let rows = FIELDS
        .iter()
        .filter(|(group, kind, _)| *group == id.group() && *kind == id.kind);
    for pointer in rows.flat_map(|(_, _, fields)| fields.iter().copied()) {
        // Fields that are not applied stay unchanged, and unset fields can be set.
        let (Some(desired), Some(live)) = (object.body().pointer(pointer), live.pointer(pointer))
        else {
            continue;
        };
        if desired != live && !is_empty_value(desired) && !is_empty_value(live) {
            return Err(reject(object, pointer));
        }
    }
    if id.group() == "batch" && id.kind == "Job" {
        return check_job(object, live);
    }
    Ok(())
}

/// The pod template of a Job is immutable. Compares only images, which usually change and are never normalized.
fn check_job(object: &Object, live: &Value) -> Result<(), Rejection> {
    for list in ["initContainers", "containers"] {
        let path = format!("/spec/template/spec/{list}");
        let containers = |object: &Value| object.pointer(&path).and_then(Value::as_array).cloned();
        let desired = containers(object.body()).unwrap_or_default();
        let live = containers(live).unwrap_or_default();
        for (at, container) in desired.iter().enumerate() {
            let same = live.iter().find(|c| c["name"] == container["name"]);
            if let Some(same) = same
                && same["image"] != container["image"]
            {
                let field = format!("{path}/{at}/image");
                return Err(reject(object, &field));
            }
        }
    }
    Ok(())
}

fn reject(object: &Object, pointer: &str) -> Rejection {
    Rejection::ImmutableField {
        object: Box::new(object.id().clone()),
        field: pointer.replace('/', "."),
    }
}
