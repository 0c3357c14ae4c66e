//! `DaemonSets`: one pod on the one node.

use serde_json::{Map, Value, json};

use super::node;
use super::object::{
    difference, generation, has_labels, is_active, is_deleting, is_ready, label, text, uid,
};
use super::revision::{HASH, Revisions};
use super::step::{Action, Step, View};
use super::template::Maker;
use super::world::Id;

pub(super) fn next(set: &Value, view: &View<'_>) -> Step {
    if is_deleting(set) {
        return Step::nothing();
    }
    let revisions = Revisions::of(set, "DaemonSet", view);
    let mut actions = revisions.actions.clone();
    let pods = view.world.controlled("pods", uid(set));
    let is_wanted = fits_node(set, view);
    let mut active: Vec<&Value> = Vec::new();
    for pod in pods {
        if is_active(pod) {
            active.push(pod);
        } else if !is_deleting(pod) {
            actions.push(Action::Delete(Id::of("pods", pod)));
        } else {
            // Its place is free when it is gone.
            return Step::now(
                actions
                    .into_iter()
                    .chain(status(set, &[], &revisions, is_wanted))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let kept = usize::from(is_wanted);
    actions.extend(
        active
            .iter()
            .skip(kept)
            .map(|pod| Action::Delete(Id::of("pods", pod))),
    );
    if is_wanted && active.is_empty() {
        actions.push(Action::Create("pods", new_pod(set, revisions.hash())));
    }
    let rolls = text(&set["spec"]["updateStrategy"]["type"]) != "OnDelete";
    if let Some(pod) = active.first()
        && is_wanted
        && rolls
        && label(pod, HASH) != revisions.hash()
    {
        actions.push(Action::Delete(Id::of("pods", pod)));
    }
    actions.extend(status(set, &active, &revisions, is_wanted));
    Step::now(actions)
}

/// Whether the node has the labels that the template asks for.
fn fits_node(set: &Value, view: &View<'_>) -> bool {
    let wanted = &set["spec"]["template"]["spec"]["nodeSelector"];
    let is_empty = wanted.as_object().is_none_or(Map::is_empty);
    let node = view.world.get(&Id::new("nodes", "", node::NAME));
    is_empty || node.is_some_and(|node| has_labels(wanted, &node["metadata"]["labels"]))
}

fn new_pod(set: &Value, hash: &str) -> Value {
    let maker = Maker {
        owner: set,
        api_version: "apps/v1",
        kind: "DaemonSet",
    };
    let mut pod = maker.unnamed_pod(
        &set["spec"]["template"],
        &[(HASH, hash), ("pod-template-generation", "1")],
    );
    let field = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node::NAME]}]});
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [field]});
    pod
}

fn status(
    set: &Value,
    active: &[&Value],
    revisions: &Revisions,
    is_wanted: bool,
) -> Option<Action> {
    let desired = usize::from(is_wanted);
    let scheduled = active.len().min(desired);
    let ready = active
        .iter()
        .filter(|pod| is_ready(pod))
        .count()
        .min(desired);
    let updated = active
        .iter()
        .filter(|pod| label(pod, HASH) == revisions.hash())
        .count()
        .min(desired);
    let mut status = Map::new();
    for (key, number, always) in [
        ("desiredNumberScheduled", desired, true),
        ("currentNumberScheduled", scheduled, true),
        ("numberReady", ready, true),
        ("numberMisscheduled", 0, true),
        ("numberAvailable", ready, false),
        ("numberUnavailable", desired - ready, false),
        ("updatedNumberScheduled", updated, false),
    ] {
        status.insert(
            key.to_owned(),
            if number == 0 && !always {
                Value::Null
            } else {
                number.into()
            },
        );
    }
    status.insert("observedGeneration".to_owned(), generation(set).into());
    let change = difference(&set["status"], &status)?;
    Some(Action::Status(Id::of("daemonsets", set), change))
}
