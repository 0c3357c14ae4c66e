//! `ReplicaSets`: as many pods as asked for.

use serde_json::{Map, Value};

use super::object::{difference, generation, integer, is_active, is_deleting, is_ready, text, uid};
use super::step::{Action, Step, View};
use super::template::Maker;
use super::world::Id;

/// Most pods that are made or deleted in one step.
const BURST: usize = 50;

pub(super) fn next(set: &Value, view: &View<'_>) -> Step {
    if is_deleting(set) {
        return Step::nothing();
    }
    let pods = view.world.controlled("pods", uid(set));
    let active: Vec<&Value> = pods
        .iter()
        .map(|pod| &***pod)
        .filter(|pod| is_active(pod))
        .collect();
    let wanted = integer(&set["spec"]["replicas"]).unwrap_or(1).max(0);
    let mut actions = scale(set, &active, usize::try_from(wanted).unwrap_or(0));
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let mut status = Map::new();
    for (key, number, always) in [
        ("replicas", active.len(), true),
        ("fullyLabeledReplicas", active.len(), false),
        ("readyReplicas", ready, false),
        ("availableReplicas", ready, false),
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
    let terminating = pods.iter().filter(|pod| is_deleting(pod)).count();
    status.insert("terminatingReplicas".to_owned(), terminating.into());
    status.insert("observedGeneration".to_owned(), generation(set).into());
    if let Some(change) = difference(&set["status"], &status) {
        actions.push(Action::Status(Id::of("replicasets", set), change));
    }
    Step::now(actions)
}

fn scale(set: &Value, active: &[&Value], wanted: usize) -> Vec<Action> {
    let maker = Maker {
        owner: set,
        api_version: "apps/v1",
        kind: "ReplicaSet",
    };
    if active.len() < wanted {
        let missing = (wanted - active.len()).min(BURST);
        let template = &set["spec"]["template"];
        return (0..missing)
            .map(|_| Action::Create("pods", maker.unnamed_pod(template, &[])))
            .collect();
    }
    // The young and the unready go first.
    let mut pods = active.to_vec();
    pods.sort_by_key(|pod| {
        (
            is_ready(pod),
            std::cmp::Reverse(text(&pod["metadata"]["creationTimestamp"]).to_owned()),
        )
    });
    let surplus = (active.len() - wanted).min(BURST);
    pods.iter()
        .take(surplus)
        .map(|pod| Action::Delete(Id::of("pods", pod)))
        .collect()
}
