//! Maps a changed object to the objects to reconcile.

use serde_json::Value;

use super::behavior::SIMULATE;
use super::cache::{Cache, ObjectRef};
use super::object::{
    annotation, controller, is_complete, is_terminated, items, matches_labels, namespace,
    plural_of_controller, selects, text, uid,
};
use super::references;

/// The object itself and all objects whose state depends on it.
pub(super) fn objects_to_reconcile(
    cache: &Cache,
    plural: &'static str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Vec<ObjectRef> {
    let Some(object) = new.or(old) else {
        return Vec::new();
    };
    let mut ids = vec![ObjectRef::of(plural, object)];
    for version in [old, new].into_iter().flatten() {
        ids.extend(controller_ref(version));
    }
    if plural == "pods" && controller(object).is_none() {
        let plurals = ["replicasets", "replicationcontrollers", "jobs"];
        ids.extend(adopters(cache, object, &plurals));
    }
    match plural {
        "pods" => ids.extend(
            [old, new]
                .into_iter()
                .flatten()
                .flat_map(|pod| selecting(cache, pod)),
        ),
        "persistentvolumeclaims" => ids.extend(users_of_claim(cache, object)),
        "configmaps" | "secrets" => ids.extend(waiting_for(cache, plural, old, new)),
        "jobs" if new.is_some_and(is_complete) && !old.is_some_and(is_complete) => {
            let pods = cache.list("pods", namespace(object));
            let pods = pods.filter(|pod| has_not_started(pod));
            ids.extend(pods.map(|pod| ObjectRef::of("pods", pod)));
        }
        "endpoints" => ids.push(ObjectRef::new(
            "services",
            namespace(object),
            &ObjectRef::of(plural, object).name,
        )),
        "services" => ids.push(ObjectRef::new(
            "endpoints",
            namespace(object),
            &ObjectRef::of(plural, object).name,
        )),
        "nodes" => {
            ids.extend(all(cache, "daemonsets", ""));
            ids.extend(cache.unscheduled().cloned());
        }
        "persistentvolumes" | "storageclasses" => {
            ids.extend(all(cache, "persistentvolumeclaims", ""));
        }
        "deployments" | "replicasets" | "statefulsets" => {
            if plural == "replicasets" && controller(object).is_none() {
                ids.extend(adopters(cache, object, &["deployments"]));
            }
            ids.extend(all(cache, "horizontalpodautoscalers", namespace(object)));
        }
        _ => {}
    }
    if plural == "pods" && new.is_none_or(is_terminated) {
        // There may be room for others now.
        ids.extend(cache.unscheduled().cloned());
    }
    let behavior_changed =
        old.map(|old| annotation(old, SIMULATE)) != new.map(|new| annotation(new, SIMULATE));
    if behavior_changed {
        add_controlled(cache, object, &mut ids, 0);
    }
    ids
}

fn controller_ref(object: &Value) -> Option<ObjectRef> {
    let reference = controller(object)?;
    let plural = plural_of_controller(text(&reference["kind"]))?;
    Some(ObjectRef::new(
        plural,
        namespace(object),
        text(&reference["name"]),
    ))
}

/// Pods inherit the behavior of their workload.
fn add_controlled(cache: &Cache, object: &Value, ids: &mut Vec<ObjectRef>, depth: usize) {
    for plural in ["replicasets", "pods"] {
        for object in cache.controlled(plural, uid(object)) {
            ids.push(ObjectRef::of(plural, object));
            if depth < 2 {
                add_controlled(cache, object, ids, depth.saturating_add(1));
            }
        }
    }
}

fn all<'a>(
    cache: &'a Cache,
    plural: &'static str,
    namespace: &'a str,
) -> impl Iterator<Item = ObjectRef> {
    cache
        .list(plural, namespace)
        .map(move |object| ObjectRef::of(plural, object))
}

/// Workloads that may adopt an object without a controller.
fn adopters(cache: &Cache, orphan: &Value, plurals: &[&'static str]) -> Vec<ObjectRef> {
    let labels = &orphan["metadata"]["labels"];
    let mut found = Vec::new();
    for plural in plurals {
        let workloads = cache.list(plural, namespace(orphan)).filter(|workload| {
            let selector = &workload["spec"]["selector"];
            if *plural == "replicationcontrollers" {
                matches_labels(selector, labels)
            } else {
                selects(selector, labels)
            }
        });
        found.extend(workloads.map(|workload| ObjectRef::of(plural, workload)));
    }
    found
}

/// Services and disruption budgets that select a pod.
fn selecting(cache: &Cache, pod: &Value) -> Vec<ObjectRef> {
    let labels = &pod["metadata"]["labels"];
    let services = cache.list("services", namespace(pod));
    let services = services.filter(|service| matches_labels(&service["spec"]["selector"], labels));
    let services = services.map(|service| ObjectRef::of("services", service));
    let budgets = cache.list("poddisruptionbudgets", namespace(pod));
    let budgets = budgets.filter(|budget| selects(&budget["spec"]["selector"], labels));
    services
        .chain(budgets.map(|budget| ObjectRef::of("poddisruptionbudgets", budget)))
        .collect()
}

/// Pods that have not started and refer to a `ConfigMap` or Secret, if its keys have changed.
fn waiting_for(
    cache: &Cache,
    plural: &str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Vec<ObjectRef> {
    let keys = |object: Option<&Value>| {
        object.map(|object| (object["data"].clone(), object["binaryData"].clone()))
    };
    let Some(object) = new.or(old).filter(|_| keys(old) != keys(new)) else {
        return Vec::new();
    };
    let name = text(&object["metadata"]["name"]);
    let pods = cache.list("pods", namespace(object));
    let pods = pods.filter(|pod| has_not_started(pod) && references::refers_to(pod, plural, name));
    pods.map(|pod| ObjectRef::of("pods", pod)).collect()
}

fn has_not_started(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "" | "Pending")
}

/// Pods that mount a claim, and the volume that it is bound to.
fn users_of_claim(cache: &Cache, claim: &Value) -> Vec<ObjectRef> {
    let name = &claim["metadata"]["name"];
    let pods = cache.list("pods", namespace(claim)).filter(|pod| {
        let volumes = items(&pod["spec"]["volumes"]);
        volumes
            .iter()
            .any(|volume| volume["persistentVolumeClaim"]["claimName"] == *name)
    });
    let mut ids: Vec<ObjectRef> = pods.map(|pod| ObjectRef::of("pods", pod)).collect();
    let volume = text(&claim["spec"]["volumeName"]);
    if !volume.is_empty() {
        ids.push(ObjectRef::new("persistentvolumes", "", volume));
    }
    ids
}
