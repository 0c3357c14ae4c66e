//! Changes that the server is sure to refuse, found before anything is changed.
//!
//! Only what is certain: fields that are compared as they stand and are never rewritten by the server.

use serde_json::Value;

use super::{Refusal, is_going};
use crate::desired::{Desired, Object};
use crate::fields::is_void;
use crate::observe::Observed;

/// Fields that cannot be changed once they are set, by API group and kind.
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

pub(super) fn check(desired: &Desired, observed: &Observed) -> Result<(), Refusal> {
    for object in desired.objects() {
        if let Some(live) = observed.live(object.id())
            && !is_going(live)
        {
            check_object(object, live)?;
        }
    }
    Ok(())
}

fn check_object(object: &Object, live: &Value) -> Result<(), Refusal> {
    let id = object.id();
    let rows = FIELDS
        .iter()
        .filter(|(group, kind, _)| *group == id.group() && *kind == id.kind);
    for pointer in rows.flat_map(|(_, _, fields)| fields.iter().copied()) {
        // What is not said stays, and what was never set can be.
        let (Some(wanted), Some(there)) = (object.body().pointer(pointer), live.pointer(pointer))
        else {
            continue;
        };
        if wanted != there && !is_void(wanted) && !is_void(there) {
            return Err(refuse(object, pointer, there, wanted));
        }
    }
    if id.group() == "batch" && id.kind == "Job" {
        return check_job(object, live);
    }
    Ok(())
}

/// The template of a Job's pods cannot be changed. Images are compared: they are what changes, and never rewritten.
fn check_job(object: &Object, live: &Value) -> Result<(), Refusal> {
    for list in ["initContainers", "containers"] {
        let path = format!("/spec/template/spec/{list}");
        let containers = |object: &Value| object.pointer(&path).and_then(Value::as_array).cloned();
        let wanted = containers(object.body()).unwrap_or_default();
        let there = containers(live).unwrap_or_default();
        for (at, container) in wanted.iter().enumerate() {
            let same = there.iter().find(|c| c["name"] == container["name"]);
            if let Some(same) = same
                && same["image"] != container["image"]
            {
                let field = format!("{path}/{at}/image");
                return Err(refuse(object, &field, &same["image"], &container["image"]));
            }
        }
    }
    Ok(())
}

fn refuse(object: &Object, pointer: &str, before: &Value, after: &Value) -> Refusal {
    Refusal::Immutable {
        object: Box::new(object.id().clone()),
        field: pointer.replace('/', "."),
        before: before.to_string(),
        after: after.to_string(),
    }
}
