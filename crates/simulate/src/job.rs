//! Jobs: pods until enough of them have succeeded or too many have failed.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::conditions::Wanted;
use super::object::{condition, difference, integer, is_active, is_deleting, is_ready, text, uid};
use super::step::{Action, Step, View};
use super::template::Maker;
use super::world::Id;

/// Most pods that are made in one step.
const BURST: i64 = 50;

/// The pods of a job.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    active: i64,
    ready: i64,
    succeeded: i64,
    failed: i64,
}

pub(super) fn next(job: &Value, view: &View<'_>) -> Step {
    if is_deleting(job) {
        return Step::nothing();
    }
    let id = Id::of("jobs", job);
    if is_true(job, "Complete") || is_true(job, "Failed") {
        return finished(job, id, view);
    }
    if job["spec"]["suspend"] == true {
        return suspended(job, id, view);
    }
    if job["status"]["startTime"].is_null() {
        return Step::now([Action::Status(id, json!({"startTime": view.time()}))]);
    }
    let counts = count(job, view);
    let mut status = status_of(counts);
    let limit = integer(&job["spec"]["backoffLimit"]).unwrap_or(6);
    let wanted = integer(&job["spec"]["completions"]).unwrap_or(1);
    if counts.failed > limit {
        let mut actions = end_pods(job, view);
        actions.extend(fail(job, &id, view, status));
        return Step::now(actions);
    }
    if counts.succeeded >= wanted && counts.active == 0 {
        return Step::now(succeed(job, &id, view, status));
    }
    let mut actions = Vec::new();
    let parallel = integer(&job["spec"]["parallelism"]).unwrap_or(1);
    let room = parallel.min(wanted - counts.succeeded) - counts.active;
    actions.extend(
        (0..room.clamp(0, BURST))
            .map(|index| Action::Create("pods", new_pod(job, counts.succeeded + index))),
    );
    status.insert("terminating".to_owned(), 0.into());
    if let Some(change) = difference(&job["status"], &status) {
        actions.push(Action::Status(id, change));
    }
    Step::now(actions)
}

fn is_true(job: &Value, kind: &str) -> bool {
    condition(job, kind).is_some_and(|condition| condition["status"] == "True")
}

fn count(job: &Value, view: &View<'_>) -> Counts {
    let mut counts = Counts::default();
    for pod in view.world.controlled("pods", uid(job)) {
        match text(&pod["status"]["phase"]) {
            "Succeeded" => counts.succeeded += 1,
            "Failed" => counts.failed += 1,
            _ if is_active(pod) => {
                counts.active += 1;
                counts.ready += i64::from(is_ready(pod));
            }
            _ => {}
        }
    }
    counts
}

fn status_of(counts: Counts) -> Map<String, Value> {
    let mut status = Map::new();
    for (key, number, always) in [
        ("active", counts.active, false),
        ("ready", counts.ready, true),
        ("succeeded", counts.succeeded, false),
        ("failed", counts.failed, false),
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
    status.insert("uncountedTerminatedPods".to_owned(), json!({}));
    status
}

/// First it is said that enough have succeeded, then that the job is complete.
fn succeed(job: &Value, id: &Id, view: &View<'_>, mut status: Map<String, Value>) -> Vec<Action> {
    let (reason, message) = (
        "CompletionsReached",
        "Reached expected number of succeeded pods",
    );
    let met = Wanted::new("SuccessCriteriaMet", true)
        .because(reason, message)
        .on(job, view, &["lastProbeTime"]);
    status.insert("conditions".to_owned(), json!([met]));
    let first = Value::Object(status);
    let complete =
        Wanted::new("Complete", true)
            .because(reason, message)
            .on(job, view, &["lastProbeTime"]);
    let last = json!({
        "conditions": [met, complete], "completionTime": view.time(), "terminating": 0,
    });
    vec![
        Action::Status(id.clone(), first),
        Action::Status(id.clone(), last),
    ]
}

fn fail(job: &Value, id: &Id, view: &View<'_>, mut status: Map<String, Value>) -> Vec<Action> {
    let (reason, message) = (
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    );
    let target = Wanted::new("FailureTarget", true)
        .because(reason, message)
        .on(job, view, &["lastProbeTime"]);
    status.insert("conditions".to_owned(), json!([target]));
    status.insert("active".to_owned(), Value::Null);
    status.insert("ready".to_owned(), 0.into());
    let failed =
        Wanted::new("Failed", true)
            .because(reason, message)
            .on(job, view, &["lastProbeTime"]);
    let last = json!({"conditions": [target, failed], "terminating": 0});
    vec![
        Action::Status(id.clone(), status.into()),
        Action::Status(id.clone(), last),
    ]
}

fn end_pods(job: &Value, view: &View<'_>) -> Vec<Action> {
    let pods = view.world.controlled("pods", uid(job));
    let active = pods.into_iter().filter(|pod| is_active(pod));
    active
        .map(|pod| Action::Delete(Id::of("pods", pod)))
        .collect()
}

fn suspended(job: &Value, id: Id, view: &View<'_>) -> Step {
    let mut actions = end_pods(job, view);
    let wanted = Wanted::new("Suspended", true).because("JobSuspended", "Job suspended");
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        json!([wanted.on(job, view, &["lastProbeTime"])]),
    );
    status.insert("active".to_owned(), Value::Null);
    if let Some(change) = difference(&job["status"], &status) {
        actions.push(Action::Status(id, change));
    }
    Step::now(actions)
}

/// A job that has ended goes after a while if it says so.
fn finished(job: &Value, id: Id, view: &View<'_>) -> Step {
    let Some(seconds) = integer(&job["spec"]["ttlSecondsAfterFinished"]) else {
        return Step::nothing();
    };
    let end = text(&job["status"]["completionTime"])
        .parse::<Timestamp>()
        .unwrap_or(view.now);
    let left = end.as_second().saturating_add(seconds) - view.now.as_second();
    let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
    Step::later("ttl", left, [Action::Delete(id)])
}

fn new_pod(job: &Value, index: i64) -> Value {
    let maker = Maker {
        owner: job,
        api_version: "batch/v1",
        kind: "Job",
    };
    let mut pod = maker.unnamed_pod(&job["spec"]["template"], &[]);
    if job["spec"]["completionMode"] == "Indexed" {
        let key = "batch.kubernetes.io/job-completion-index";
        let index = index.to_string();
        pod["metadata"]["annotations"][key] = index.clone().into();
        pod["metadata"]["labels"][key] = index.into();
    }
    pod
}
