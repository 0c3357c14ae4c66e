//! `PersistentVolumeClaims`: each is bound to a provisioned volume without data.

use serde_json::{Map, Value, json};

use super::behavior::{Behavior, SIMULATED};
use super::cache::ObjectRef;
use super::object::{behavior, is_deleting, name, namespace, text, uid};
use super::plan::{Action, Context, Plan};

pub(super) fn reconcile(claim: &Value, ctx: &Context<'_>) -> Plan {
    let id = ObjectRef::of("persistentvolumeclaims", claim);
    if is_deleting(claim)
        || claim["status"]["phase"] == "Bound"
        || behavior(ctx.cache, claim) == Behavior::ClaimPending
    {
        return Plan::none();
    }
    let requested = text(&claim["spec"]["volumeName"]);
    let volume = if requested.is_empty() {
        format!("pvc-{}", uid(claim))
    } else {
        requested.to_owned()
    };
    let mut actions = Vec::new();
    let existing = ctx
        .cache
        .get(&ObjectRef::new("persistentvolumes", "", &volume));
    if existing.is_none() {
        if !requested.is_empty() {
            // The requested volume may still be created.
            return Plan::none();
        }
        actions.push(Action::Create(
            "persistentvolumes",
            new_volume(claim, &volume),
        ));
    }
    if requested.is_empty() {
        let change = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": volume},
        });
        actions.push(Action::Patch(id.clone(), change));
    }
    let bound = json!({
        "phase": "Bound", "accessModes": claim["spec"]["accessModes"],
        "capacity": claim["spec"]["resources"]["requests"],
    });
    actions.push(Action::Status(id, bound));
    Plan::after("bind", ctx.options.delay, actions)
}

fn new_volume(claim: &Value, volume: &str) -> Value {
    let spec = &claim["spec"];
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume, "annotations": {SIMULATED: "true", "pv.kubernetes.io/provisioned-by": "simulated"}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": spec["resources"]["requests"],
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name(claim),
                "namespace": namespace(claim), "uid": uid(claim),
            },
            "hostPath": {"path": format!("/simulated/{volume}")},
            "persistentVolumeReclaimPolicy": "Delete",
            "volumeMode": spec["volumeMode"],
        },
    });
    if let Some(class) = spec.get("storageClassName") {
        object["spec"]["storageClassName"] = class.clone();
    }
    object
}

/// Sets the phase of a volume; deletes a volume that the simulation provisioned once its claim is gone.
pub(super) fn reconcile_volume(volume: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(volume) {
        return Plan::none();
    }
    let id = ObjectRef::of("persistentvolumes", volume);
    let reference = &volume["spec"]["claimRef"];
    let phase = if reference.is_null() {
        "Available"
    } else {
        let claim = ObjectRef::new(
            "persistentvolumeclaims",
            text(&reference["namespace"]),
            text(&reference["name"]),
        );
        let claim = ctx
            .cache
            .get(&claim)
            .filter(|claim| claim["metadata"]["uid"] == reference["uid"]);
        let is_ours = volume["metadata"]["annotations"][SIMULATED] == "true";
        match claim {
            Some(_) => "Bound",
            None if is_ours => {
                return Plan::after("reclaim", ctx.options.delay, [Action::Delete(id)]);
            }
            None if reference["uid"].is_null() => "Available",
            None => "Released",
        }
    };
    let mut status = Map::new();
    status.insert("phase".to_owned(), phase.into());
    Plan::now(Action::update_status("persistentvolumes", volume, &status))
}
