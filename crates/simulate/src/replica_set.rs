//! `ReplicaSets` and `ReplicationControllers`: create, adopt and delete pods until there are `spec.replicas`.

use serde_json::{Map, Value, json};

use super::adoption;
use super::cache::ObjectRef;
use super::condition::Condition;
use super::event;
use super::object::{
    condition, generation, insert_counts, insert_nonzero_counts, integer, is_active, is_deleting,
    is_ready, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::PodOwner;

/// How many pods one reconcile creates or deletes at most.
const BURST: usize = 50;

pub(super) fn reconcile(set: &Value, ctx: &Context<'_>) -> Plan {
    let owner = PodOwner {
        owner: set,
        api_version: "apps/v1",
        kind: "ReplicaSet",
    };
    reconcile_pods(owner, "replicasets", &set["spec"]["selector"], ctx)
}

pub(super) fn reconcile_controller(controller: &Value, ctx: &Context<'_>) -> Plan {
    let owner = PodOwner {
        owner: controller,
        api_version: "v1",
        kind: "ReplicationController",
    };
    let selector = json!({"matchLabels": controller["spec"]["selector"]});
    reconcile_pods(owner, "replicationcontrollers", &selector, ctx)
}

fn reconcile_pods(
    owner: PodOwner<'_>,
    plural: &'static str,
    selector: &Value,
    ctx: &Context<'_>,
) -> Plan {
    let set = owner.owner;
    if is_deleting(set) {
        return Plan::none();
    }
    let claims = adoption::claim(owner, "pods", selector, ctx);
    if !claims.is_empty() {
        return Plan::now(claims);
    }
    let pods = ctx.cache.controlled("pods", uid(set));
    let active: Vec<&Value> = pods
        .iter()
        .map(|pod| &***pod)
        .filter(|pod| is_active(pod))
        .collect();
    let wanted = integer(&set["spec"]["replicas"]).unwrap_or(1).max(0);
    let wanted = usize::try_from(wanted).unwrap_or(0);
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
    if plural == "replicasets" {
        let terminating = pods.iter().filter(|pod| is_deleting(pod)).count();
        status.insert("terminatingReplicas".to_owned(), terminating.into());
    }
    status.insert("observedGeneration".to_owned(), generation(set).into());
    let failure = ctx.failure.filter(|_| active.len() < wanted);
    let conditions = failure.map_or(Value::Null, |why| {
        let failed = Condition::new("ReplicaFailure", true).reason("FailedCreate", why);
        json!([failed.for_object(set, ctx, &[])])
    });
    status.insert("conditions".to_owned(), conditions);
    // If a pod cannot be created, the status tells so.
    let mut actions: Vec<Action> = Vec::new();
    let update = Action::update_status(plural, set, &status);
    if let Some(why) = failure
        && condition(set, "ReplicaFailure").is_none()
    {
        let about = (owner.api_version, owner.kind);
        let source = ("replicaset-controller", "FailedCreate");
        let message = format!("Error creating: {why}");
        actions.push(event::warning(about, set, source, &message, ctx));
    }
    actions.extend(update);
    actions.extend(scale(owner, &active, wanted));
    Plan::now(actions)
}

fn scale(owner: PodOwner<'_>, active: &[&Value], wanted: usize) -> Vec<Action> {
    let set = owner.owner;
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
