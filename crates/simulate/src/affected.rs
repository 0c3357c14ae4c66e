//! Which objects must be looked at when one has changed.

use serde_json::Value;

use super::mode::SIMULATE;
use super::object::{
    annotation, controller, controlling_plural, has_labels, items, namespace, selects, text, uid,
};
use super::world::{Id, World};

/// The object itself and all whose state depends on it. `old` is the version before, `new` the one now.
pub(super) fn affected(
    world: &World,
    plural: &'static str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Vec<Id> {
    let Some(object) = new.or(old) else {
        return Vec::new();
    };
    let mut ids = vec![Id::of(plural, object)];
    for version in [old, new].into_iter().flatten() {
        ids.extend(controller_id(version));
    }
    match plural {
        "pods" => ids.extend(
            [old, new]
                .into_iter()
                .flatten()
                .flat_map(|pod| watchers_of(world, pod)),
        ),
        "persistentvolumeclaims" => ids.extend(users_of(world, object)),
        "endpoints" => ids.push(Id::new(
            "services",
            namespace(object),
            &Id::of(plural, object).name,
        )),
        "services" => ids.push(Id::new(
            "endpoints",
            namespace(object),
            &Id::of(plural, object).name,
        )),
        "nodes" => ids.extend(all(world, "daemonsets", "")),
        "persistentvolumes" => ids.extend(all(world, "persistentvolumeclaims", "")),
        "deployments" | "replicasets" | "statefulsets" => {
            ids.extend(all(world, "horizontalpodautoscalers", namespace(object)));
        }
        _ => {}
    }
    let has_other_mode =
        old.map(|old| annotation(old, SIMULATE)) != new.map(|new| annotation(new, SIMULATE));
    if has_other_mode {
        controlled_by(world, object, &mut ids, 0);
    }
    ids
}

fn controller_id(object: &Value) -> Option<Id> {
    let reference = controller(object)?;
    let plural = controlling_plural(text(&reference["kind"]))?;
    Some(Id::new(plural, namespace(object), text(&reference["name"])))
}

/// What is under a workload behaves as the workload says.
fn controlled_by(world: &World, object: &Value, ids: &mut Vec<Id>, depth: usize) {
    for plural in ["replicasets", "pods"] {
        for object in world.controlled(plural, uid(object)) {
            ids.push(Id::of(plural, object));
            if depth < 2 {
                controlled_by(world, object, ids, depth + 1);
            }
        }
    }
}

fn all<'a>(world: &'a World, plural: &'static str, namespace: &'a str) -> impl Iterator<Item = Id> {
    world
        .list(plural, namespace)
        .map(move |object| Id::of(plural, object))
}

/// Services and budgets that select a pod.
fn watchers_of(world: &World, pod: &Value) -> Vec<Id> {
    let labels = &pod["metadata"]["labels"];
    let services = world.list("services", namespace(pod));
    let services = services.filter(|service| has_labels(&service["spec"]["selector"], labels));
    let services = services.map(|service| Id::of("services", service));
    let budgets = world.list("poddisruptionbudgets", namespace(pod));
    let budgets = budgets.filter(|budget| selects(&budget["spec"]["selector"], labels));
    services
        .chain(budgets.map(|budget| Id::of("poddisruptionbudgets", budget)))
        .collect()
}

/// Pods that wait for a claim, and the volume behind it.
fn users_of(world: &World, claim: &Value) -> Vec<Id> {
    let name = &claim["metadata"]["name"];
    let pods = world.list("pods", namespace(claim)).filter(|pod| {
        let volumes = items(&pod["spec"]["volumes"]);
        volumes
            .iter()
            .any(|volume| volume["persistentVolumeClaim"]["claimName"] == *name)
    });
    let mut ids: Vec<Id> = pods.map(|pod| Id::of("pods", pod)).collect();
    let volume = text(&claim["spec"]["volumeName"]);
    if !volume.is_empty() {
        ids.push(Id::new("persistentvolumes", "", volume));
    }
    ids
}
