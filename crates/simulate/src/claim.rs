//! Claims for volumes: each gets a volume of its own that holds nothing.

use serde_json::{Map, Value, json};

use super::mode::{Mode, SIMULATED};
use super::object::{difference, is_deleting, mode, name, namespace, text, uid};
use super::step::{Action, Step, View};
use super::world::Id;

pub(super) fn next(claim: &Value, view: &View<'_>) -> Step {
    let id = Id::of("persistentvolumeclaims", claim);
    if is_deleting(claim)
        || claim["status"]["phase"] == "Bound"
        || mode(view.world, claim) == Mode::ClaimPending
    {
        return Step::nothing();
    }
    let asked = text(&claim["spec"]["volumeName"]);
    let volume = if asked.is_empty() {
        format!("pvc-{}", uid(claim))
    } else {
        asked.to_owned()
    };
    let mut actions = Vec::new();
    let existing = view.world.get(&Id::new("persistentvolumes", "", &volume));
    if existing.is_none() {
        if !asked.is_empty() {
            // The volume that it asks for may come yet.
            return Step::nothing();
        }
        actions.push(Action::Create(
            "persistentvolumes",
            new_volume(claim, &volume),
        ));
    }
    if asked.is_empty() {
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
    Step::later("bind", view.options.delay, actions)
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

/// A volume is bound while its claim is there, and goes with it if we have made it.
pub(super) fn volume_next(volume: &Value, view: &View<'_>) -> Step {
    if is_deleting(volume) {
        return Step::nothing();
    }
    let id = Id::of("persistentvolumes", volume);
    let reference = &volume["spec"]["claimRef"];
    let phase = if reference.is_null() {
        "Available"
    } else {
        let claim = Id::new(
            "persistentvolumeclaims",
            text(&reference["namespace"]),
            text(&reference["name"]),
        );
        let claim = view
            .world
            .get(&claim)
            .filter(|claim| claim["metadata"]["uid"] == reference["uid"]);
        let is_ours = volume["metadata"]["annotations"][SIMULATED] == "true";
        match claim {
            Some(_) => "Bound",
            None if is_ours => {
                return Step::later("reclaim", view.options.delay, [Action::Delete(id)]);
            }
            None if reference["uid"].is_null() => "Available",
            None => "Released",
        }
    };
    let mut status = Map::new();
    status.insert("phase".to_owned(), phase.into());
    let change = difference(&volume["status"], &status);
    Step::now(
        change
            .map(|change| Action::Status(id, change))
            .into_iter()
            .collect::<Vec<_>>(),
    )
}
