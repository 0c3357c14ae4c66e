//! `PersistentVolumeClaims`: each is bound to a volume that satisfies it, or to a provisioned volume without data.
//!
//! Nothing waits for the first consumer, and the node affinity of volumes is not checked: there is one node.

use serde_json::{Map, Value, json};

use super::behavior::{Behavior, SIMULATED};
use super::cache::ObjectRef;
use super::event;
use super::object::{
    annotation, behavior, is_deleting, items, name, namespace, selects, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::requests::quantity;

/// A claim without a class has the default one. Without a default class, the simulation provisions its volume.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(super) fn reconcile(claim: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(claim)
        || claim["status"]["phase"] == "Bound"
        || behavior(ctx.cache, claim) == Behavior::ClaimPending
    {
        return Plan::none();
    }
    let actions = match choose_volume(claim, ctx) {
        Choice::Existing(volume) => bind(claim, volume),
        Choice::New => provision(claim, ctx),
        Choice::Wait => return Plan::none(),
        Choice::Fail(reason, message) => {
            let source = ("persistentvolume-controller", reason);
            let about = ("v1", "PersistentVolumeClaim");
            return Plan::now([event::warning_once(about, claim, source, &message, ctx)]);
        }
    };
    Plan::after("bind", ctx.options.delay, actions)
}

/// The volume of a claim.
enum Choice<'a> {
    Existing(&'a Value),
    New,
    /// What the claim needs may still be created.
    Wait,
    /// The reason and message of an event.
    Fail(&'static str, String),
}

fn choose_volume<'a>(claim: &Value, ctx: &Context<'a>) -> Choice<'a> {
    let requested = text(&claim["spec"]["volumeName"]);
    if !requested.is_empty() {
        return requested_volume(claim, requested, ctx);
    }
    if let Some(volume) = matching_volume(claim, ctx) {
        return Choice::Existing(volume);
    }
    let Some(class) = class(claim) else {
        return Choice::New;
    };
    if class.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        return Choice::Fail("FailedBinding", message.to_owned());
    }
    let id = ObjectRef::new("storageclasses", "", class);
    match ctx.cache.get(&id) {
        Some(class) if class["provisioner"] == NO_PROVISIONER => Choice::Wait,
        Some(_) => Choice::New,
        None => Choice::Fail(
            "ProvisioningFailed",
            format!("storageclass.storage.k8s.io \"{class}\" not found"),
        ),
    }
}

fn requested_volume<'a>(claim: &Value, requested: &str, ctx: &Context<'a>) -> Choice<'a> {
    let id = ObjectRef::new("persistentvolumes", "", requested);
    let Some(volume) = ctx.cache.get(&id) else {
        return Choice::Wait;
    };
    if !is_free_for(volume, claim) {
        let message = format!("volume \"{requested}\" already bound to a different claim.");
        return Choice::Fail("FailedBinding", message);
    }
    match mismatch(volume, claim) {
        None => Choice::Existing(volume),
        Some(reason) => Choice::Fail(
            "VolumeMismatch",
            format!("Cannot bind to requested volume \"{requested}\": {reason}"),
        ),
    }
}

/// The volume that is reserved for the claim, or else the smallest that satisfies it.
fn matching_volume<'a>(claim: &Value, ctx: &Context<'a>) -> Option<&'a Value> {
    let selector = &claim["spec"]["selector"];
    let volumes = ctx.cache.list("persistentvolumes", "");
    let volumes = volumes.map(|volume| &**volume).filter(|volume| {
        is_free_for(volume, claim)
            && !is_deleting(volume)
            && mismatch(volume, claim).is_none()
            && (selector.is_null() || selects(selector, &volume["metadata"]["labels"]))
    });
    volumes.min_by_key(|volume| (volume["spec"]["claimRef"].is_null(), capacity(volume)))
}

/// Whether the volume is reserved for no other claim.
fn is_free_for(volume: &Value, claim: &Value) -> bool {
    let reference = &volume["spec"]["claimRef"];
    reference.is_null()
        || reference["name"] == claim["metadata"]["name"]
            && reference["namespace"] == claim["metadata"]["namespace"]
            && ["", uid(claim)].contains(&text(&reference["uid"]))
}

/// Why a volume does not satisfy a claim, in the words of Kubernetes.
fn mismatch(volume: &Value, claim: &Value) -> Option<&'static str> {
    let requested = quantity(&claim["spec"]["resources"]["requests"]["storage"]).rounded_up();
    let modes = items(&volume["spec"]["accessModes"]);
    let mut requested_modes = items(&claim["spec"]["accessModes"]).iter();
    if capacity(volume) < requested {
        Some("requested PV is too small")
    } else if class(volume).unwrap_or_default() != class(claim).unwrap_or_default() {
        Some("storageClassName does not match")
    } else if volume_mode(volume) != volume_mode(claim) {
        Some("incompatible volumeMode")
    } else if !requested_modes.all(|mode| modes.contains(mode)) {
        Some("incompatible accessMode")
    } else {
        None
    }
}

/// In bytes.
fn capacity(volume: &Value) -> i128 {
    quantity(&volume["spec"]["capacity"]["storage"]).rounded_up()
}

/// The storage class of a claim or a volume.
fn class(object: &Value) -> Option<&str> {
    let annotated = annotation(object, CLASS_ANNOTATION);
    if annotated.is_empty() {
        object["spec"]["storageClassName"].as_str()
    } else {
        Some(annotated)
    }
}

fn volume_mode(object: &Value) -> &str {
    object["spec"]["volumeMode"]
        .as_str()
        .unwrap_or("Filesystem")
}

/// Binds a claim to a volume that exists. Another claim may have been faster: then the resource version is outdated.
fn bind(claim: &Value, volume: &Value) -> Vec<Action> {
    let mut actions = Vec::new();
    if text(&volume["spec"]["claimRef"]["uid"]).is_empty() {
        let mut change = json!({
            "metadata": {"resourceVersion": volume["metadata"]["resourceVersion"]},
            "spec": {"claimRef": claim_reference(claim)},
        });
        if volume["spec"]["claimRef"].is_null() {
            change["metadata"]["annotations"] =
                json!({"pv.kubernetes.io/bound-by-controller": "yes"});
        }
        let id = ObjectRef::of("persistentvolumes", volume);
        actions.push(Action::Patch(id, change));
    }
    actions.extend(bind_claim(claim, name(volume), &volume["spec"]));
    actions
}

fn provision(claim: &Value, ctx: &Context<'_>) -> Vec<Action> {
    let volume = new_volume(claim, &format!("pvc-{}", uid(claim)));
    let mut actions = bind_claim(claim, name(&volume), &volume["spec"]);
    let id = ObjectRef::of("persistentvolumes", &volume);
    if ctx.cache.get(&id).is_none() {
        actions.insert(0, Action::Create("persistentvolumes", volume));
    }
    actions
}

fn bind_claim(claim: &Value, volume: &str, spec: &Value) -> Vec<Action> {
    let id = ObjectRef::of("persistentvolumeclaims", claim);
    let mut annotations = json!({"pv.kubernetes.io/bind-completed": "yes"});
    if text(&claim["spec"]["volumeName"]).is_empty() {
        annotations["pv.kubernetes.io/bound-by-controller"] = "yes".into();
    }
    let change = json!({"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}});
    let bound = json!({
        "phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"],
    });
    vec![Action::Patch(id.clone(), change), Action::Status(id, bound)]
}

fn claim_reference(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name(claim),
        "namespace": namespace(claim), "uid": uid(claim),
    })
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
            "claimRef": claim_reference(claim),
            "hostPath": {"path": format!("/simulated/{volume}")},
            "persistentVolumeReclaimPolicy": "Delete",
            "volumeMode": spec["volumeMode"],
        },
    });
    if let Some(class) = class(claim) {
        object["spec"]["storageClassName"] = class.into();
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
            None if text(&reference["uid"]).is_empty() => "Available",
            None => "Released",
        }
    };
    let mut status = Map::new();
    status.insert("phase".to_owned(), phase.into());
    Plan::now(Action::update_status("persistentvolumes", volume, &status))
}
