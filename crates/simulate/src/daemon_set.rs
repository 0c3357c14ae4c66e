//! `DaemonSets`: one pod on the simulated node.

use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::node;
use super::object::{
    generation, insert_counts, insert_nonzero_counts, is_active, is_deleting, is_ready, items,
    label, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::PodOwner;
use super::revision::{HASH, Revisions};
use super::scheduling;

pub(super) fn reconcile(set: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(set) {
        return Plan::none();
    }
    let revisions = Revisions::of(set, "DaemonSet", ctx);
    let mut actions = revisions.actions.clone();
    let pods = ctx.cache.controlled("pods", uid(set));
    let should_run = matches_node(set, ctx);
    let mut active: Vec<&Value> = Vec::new();
    for pod in pods {
        if is_active(pod) {
            active.push(pod);
        } else if !is_deleting(pod) {
            actions.push(Action::Delete(ObjectRef::of("pods", pod)));
        } else {
            // The new pod is created when this one is gone.
            return Plan::now(
                actions
                    .into_iter()
                    .chain(status(set, &[], &revisions, should_run))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let kept = usize::from(should_run);
    actions.extend(
        active
            .iter()
            .skip(kept)
            .map(|pod| Action::Delete(ObjectRef::of("pods", pod))),
    );
    if should_run && active.is_empty() {
        actions.push(Action::Create("pods", new_pod(set, revisions.hash())));
    }
    let rolls = text(&set["spec"]["updateStrategy"]["type"]) != "OnDelete";
    if let Some(pod) = active.first()
        && should_run
        && rolls
        && label(pod, HASH) != revisions.hash()
    {
        actions.push(Action::Delete(ObjectRef::of("pods", pod)));
    }
    actions.extend(status(set, &active, &revisions, should_run));
    Plan::now(actions)
}

/// Whether the node matches the node selector and the node affinity of the template.
fn matches_node(set: &Value, ctx: &Context<'_>) -> bool {
    let node = ctx.cache.get(&ObjectRef::new("nodes", "", node::NAME));
    let node = node.map_or(&Value::Null, |node| node);
    scheduling::selects_node(&set["spec"]["template"]["spec"], node)
}

/// Taints that pods of all `DaemonSets` tolerate.
const TOLERATED: [(&str, &str); 6] = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
];

fn new_pod(set: &Value, hash: &str) -> Value {
    let owner = PodOwner {
        owner: set,
        api_version: "apps/v1",
        kind: "DaemonSet",
    };
    let mut pod = owner.pod_with_generated_name(
        &set["spec"]["template"],
        &[(HASH, hash), ("pod-template-generation", "1")],
    );
    let field = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node::NAME]}]});
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [field]});
    let own = items(&pod["spec"]["tolerations"]).iter().cloned();
    let tolerated = TOLERATED.map(|(taint, effect)| {
        json!({"key": format!("node.kubernetes.io/{taint}"), "operator": "Exists", "effect": effect})
    });
    pod["spec"]["tolerations"] = own.chain(tolerated).collect();
    pod
}

fn status(
    set: &Value,
    active: &[&Value],
    revisions: &Revisions,
    should_run: bool,
) -> Option<Action> {
    let desired = usize::from(should_run);
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
    insert_counts(
        &mut status,
        [
            ("desiredNumberScheduled", desired),
            ("currentNumberScheduled", scheduled),
            ("numberReady", ready),
            ("numberMisscheduled", 0),
        ],
    );
    insert_nonzero_counts(
        &mut status,
        [
            ("numberAvailable", ready),
            ("numberUnavailable", desired.saturating_sub(ready)),
            ("updatedNumberScheduled", updated),
        ],
    );
    status.insert("observedGeneration".to_owned(), generation(set).into());
    Action::update_status("daemonsets", set, &status)
}
