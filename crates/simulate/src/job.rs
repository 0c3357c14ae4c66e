//! Jobs: creates pods until enough of them have succeeded or too many have failed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::adoption;
use super::cache::ObjectRef;
use super::condition::Condition;
use super::job_indexes::{COMPLETION_INDEX, Indexes};
use super::object::{
    insert_counts, insert_nonzero_counts, integer, is_active, is_complete, is_deleting, is_ready,
    is_true, name, text, uid,
};
use super::plan::{Action, Context, Plan};
use super::pod_template::PodOwner;

/// How many pods one reconcile creates at most.
const BURST: i64 = 50;

/// How many pods of a job are in which phase.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    active: i64,
    ready: i64,
    succeeded: i64,
    failed: i64,
}

pub(super) fn reconcile(job: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(job) {
        return Plan::none();
    }
    let id = ObjectRef::of("jobs", job);
    if is_complete(job) || is_true(job, "Failed") {
        return finished(job, id, ctx);
    }
    let claims = adoption::claim(owner(job), "pods", &job["spec"]["selector"], ctx);
    if !claims.is_empty() {
        return Plan::now(claims);
    }
    if job["spec"]["suspend"] == true {
        return suspended(job, ctx);
    }
    if job["status"]["startTime"].is_null() {
        return Plan::now([Action::Status(id, json!({"startTime": ctx.time()}))]);
    }
    let counts = count(job, ctx);
    let mut status = status_of(counts);
    let indexes = Indexes::of(job, ctx);
    if let Some(indexes) = &indexes {
        let text = indexes.completed();
        let text = if text.is_empty() {
            Value::Null
        } else {
            text.into()
        };
        status.insert("completedIndexes".to_owned(), text);
        if let Some(rule) = indexes.matching_rule(&job["spec"]["successPolicy"]) {
            let message = format!("Matched rules at index {rule}");
            return satisfied(job, &id, ctx, status, &message);
        }
    }
    let limit = integer(&job["spec"]["backoffLimit"]).unwrap_or(6);
    let wanted = integer(&job["spec"]["completions"]).unwrap_or(1);
    if counts.failed > limit {
        let mut actions = delete_active_pods(job, ctx);
        actions.extend(fail(job, &id, ctx, status));
        return Plan::now(actions);
    }
    if counts.succeeded >= wanted && counts.active == 0 {
        let why = (
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        );
        return Plan::now(succeed(job, &id, ctx, status, why));
    }
    let mut actions = Vec::new();
    let parallel = integer(&job["spec"]["parallelism"]).unwrap_or(1);
    let left = wanted.saturating_sub(counts.succeeded);
    let room = parallel.min(left).saturating_sub(counts.active);
    let room = usize::try_from(room.clamp(0, BURST)).unwrap_or(0);
    match indexes {
        Some(indexes) => actions.extend(
            indexes
                .missing(wanted)
                .take(room)
                .map(|index| Action::Create("pods", new_pod(job, Some(index)))),
        ),
        None => actions.extend((0..room).map(|_| Action::Create("pods", new_pod(job, None)))),
    }
    status.insert("terminating".to_owned(), 0.into());
    actions.extend(Action::update_status("jobs", job, &status));
    Plan::now(actions)
}

fn count(job: &Value, ctx: &Context<'_>) -> Counts {
    let mut counts = Counts::default();
    let increment = |count: &mut i64| *count = count.saturating_add(1);
    for pod in ctx.cache.controlled("pods", uid(job)) {
        match text(&pod["status"]["phase"]) {
            "Succeeded" => increment(&mut counts.succeeded),
            "Failed" => increment(&mut counts.failed),
            _ if is_active(pod) => {
                increment(&mut counts.active);
                if is_ready(pod) {
                    increment(&mut counts.ready);
                }
            }
            _ => {}
        }
    }
    counts
}

fn status_of(counts: Counts) -> Map<String, Value> {
    let mut status = Map::new();
    insert_counts(&mut status, [("ready", counts.ready)]);
    insert_nonzero_counts(
        &mut status,
        [
            ("active", counts.active),
            ("succeeded", counts.succeeded),
            ("failed", counts.failed),
        ],
    );
    status.insert("uncountedTerminatedPods".to_owned(), json!({}));
    status
}

/// The job controller first sets `SuccessCriteriaMet`, then `Complete`.
fn succeed(
    job: &Value,
    id: &ObjectRef,
    ctx: &Context<'_>,
    mut status: Map<String, Value>,
    (reason, message): (&str, &str),
) -> Vec<Action> {
    let met = Condition::new("SuccessCriteriaMet", true)
        .reason(reason, message)
        .for_object(job, ctx, &["lastProbeTime"]);
    status.insert("conditions".to_owned(), json!([met]));
    let first = Value::Object(status);
    let complete = Condition::new("Complete", true)
        .reason(reason, message)
        .for_object(job, ctx, &["lastProbeTime"]);
    let last = json!({
        "conditions": [met, complete], "completionTime": ctx.time(), "terminating": 0,
    });
    vec![
        Action::Status(id.clone(), first),
        Action::Status(id.clone(), last),
    ]
}

/// The success policy is satisfied: pods that still run are deleted before the job completes.
fn satisfied(
    job: &Value,
    id: &ObjectRef,
    ctx: &Context<'_>,
    mut status: Map<String, Value>,
    message: &str,
) -> Plan {
    let why = ("SuccessPolicy", message);
    let pods = ctx.cache.controlled("pods", uid(job));
    let is_running =
        |pod: &&&Arc<Value>| !matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed");
    if !pods.iter().any(|pod| is_running(&pod)) {
        return Plan::now(succeed(job, id, ctx, status, why));
    }
    let met = Condition::new("SuccessCriteriaMet", true)
        .reason(why.0, why.1)
        .for_object(job, ctx, &["lastProbeTime"]);
    status.insert("conditions".to_owned(), json!([met]));
    let mut actions: Vec<Action> = Vec::new();
    actions.extend(Action::update_status("jobs", job, &status));
    actions.extend(delete_active_pods(job, ctx));
    Plan::now(actions)
}

fn fail(
    job: &Value,
    id: &ObjectRef,
    ctx: &Context<'_>,
    mut status: Map<String, Value>,
) -> Vec<Action> {
    let (reason, message) = (
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    );
    let target = Condition::new("FailureTarget", true)
        .reason(reason, message)
        .for_object(job, ctx, &["lastProbeTime"]);
    status.insert("conditions".to_owned(), json!([target]));
    status.insert("active".to_owned(), Value::Null);
    status.insert("ready".to_owned(), 0.into());
    let failed = Condition::new("Failed", true)
        .reason(reason, message)
        .for_object(job, ctx, &["lastProbeTime"]);
    let last = json!({"conditions": [target, failed], "terminating": 0});
    vec![
        Action::Status(id.clone(), status.into()),
        Action::Status(id.clone(), last),
    ]
}

fn delete_active_pods(job: &Value, ctx: &Context<'_>) -> Vec<Action> {
    let pods = ctx.cache.controlled("pods", uid(job));
    let active = pods.into_iter().filter(|pod| is_active(pod));
    active
        .map(|pod| Action::Delete(ObjectRef::of("pods", pod)))
        .collect()
}

fn suspended(job: &Value, ctx: &Context<'_>) -> Plan {
    let mut actions = delete_active_pods(job, ctx);
    let wanted = Condition::new("Suspended", true).reason("JobSuspended", "Job suspended");
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        json!([wanted.for_object(job, ctx, &["lastProbeTime"])]),
    );
    status.insert("active".to_owned(), Value::Null);
    actions.extend(Action::update_status("jobs", job, &status));
    Plan::now(actions)
}

/// Deletes a finished job after `ttlSecondsAfterFinished`.
fn finished(job: &Value, id: ObjectRef, ctx: &Context<'_>) -> Plan {
    let Some(seconds) = integer(&job["spec"]["ttlSecondsAfterFinished"]) else {
        return Plan::none();
    };
    let end = text(&job["status"]["completionTime"])
        .parse::<Timestamp>()
        .unwrap_or(ctx.now);
    let left = end.as_second().saturating_add(seconds);
    let left = left.saturating_sub(ctx.now.as_second());
    let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
    Plan::after("ttl", left, [Action::Delete(id)])
}

fn owner(job: &Value) -> PodOwner<'_> {
    PodOwner {
        owner: job,
        api_version: "batch/v1",
        kind: "Job",
    }
}

fn new_pod(job: &Value, index: Option<i64>) -> Value {
    let mut pod = owner(job).pod_with_generated_name(&job["spec"]["template"], &[]);
    if let Some(index) = index.map(|index| index.to_string()) {
        pod["metadata"]["annotations"][COMPLETION_INDEX] = index.clone().into();
        pod["metadata"]["labels"][COMPLETION_INDEX] = index.clone().into();
        let hostname = format!("{}-{index}", name(job));
        pod["metadata"]["generateName"] = format!("{hostname}-").into();
        pod["spec"]["hostname"] = hostname.into();
    }
    pod
}
