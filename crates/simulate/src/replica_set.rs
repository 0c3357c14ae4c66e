//! `ReplicaSets`: creates and deletes pods until there are `spec.replicas`.

use serde_json::{Map, Value};

use super::cache::ObjectRef;
use super::object::{
    generation, insert_counts, insert_nonzero_counts, integer, is_active, is_deleting, is_ready,
    text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::PodOwner;

/// How many pods one reconcile creates or deletes at most.
const BURST: usize = 50;

pub(super) fn reconcile(set: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(set) {
        return Plan::none();
    }
    let pods = ctx.cache.controlled("pods", uid(set));
    let active: Vec<&Value> = pods
        .iter()
        .map(|pod| &***pod)
        .filter(|pod| is_active(pod))
        .collect();
    let wanted = integer(&set["spec"]["replicas"]).unwrap_or(1).max(0);
    let mut actions = scale(set, &active, usize::try_from(wanted).unwrap_or(0));
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let mut status = Map::new();
    insert_counts(&mut status, [("replicas", active.len())]);
    insert_nonzero_counts(
        &mut status,
        [
            ("fullyLabeledReplicas", active.len()),
            ("readyReplicas", ready),
            ("availableReplicas", ready),
        ],
    );
    let terminating = pods.iter().filter(|pod| is_deleting(pod)).count();
    status.insert("terminatingReplicas".to_owned(), terminating.into());
    status.insert("observedGeneration".to_owned(), generation(set).into());
    actions.extend(Action::update_status("replicasets", set, &status));
    Plan::now(actions)
}

fn scale(set: &Value, active: &[&Value], wanted: usize) -> Vec<Action> {
    let owner = PodOwner {
        owner: set,
        api_version: "apps/v1",
        kind: "ReplicaSet",
    };
    if active.len() < wanted {
        let missing = wanted.saturating_sub(active.len()).min(BURST);
        let template = &set["spec"]["template"];
        return (0..missing)
            .map(|_| Action::Create("pods", owner.pod_with_generated_name(template, &[])))
            .collect();
    }
    // Unready pods are deleted first, then the youngest.
    let mut pods = active.to_vec();
    pods.sort_by_key(|pod| {
        (
            is_ready(pod),
            std::cmp::Reverse(text(&pod["metadata"]["creationTimestamp"]).to_owned()),
        )
    });
    let surplus = active.len().saturating_sub(wanted).min(BURST);
    pods.iter()
        .take(surplus)
        .map(|pod| Action::Delete(ObjectRef::of("pods", pod)))
        .collect()
}
