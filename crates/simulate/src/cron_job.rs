//! Cron jobs: creates a Job for each scheduled time, and keeps a limited number of finished Jobs.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use outrigger_builtin::cron::Schedule;
use serde_json::{Map, Value, json};

use super::cache::ObjectRef;
use super::object::{
    condition, controller_reference, integer, is_deleting, name, namespace, text, uid,
};
use super::plan::{Action, Context, Plan};

/// How many missed start times are considered.
const MAX_MISSED: usize = 100;

pub(super) fn reconcile(cron: &Value, ctx: &Context<'_>) -> Plan {
    if is_deleting(cron) {
        return Plan::none();
    }
    let jobs = ctx.cache.controlled("jobs", uid(cron));
    let (finished, active): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .partition(|job| finished_condition(job).is_some());
    let mut actions = clean_up(cron, &finished);
    let mut status = Map::new();
    let references: Vec<Value> = active.iter().map(|job| reference(job)).collect();
    let references = if references.is_empty() {
        Value::Null
    } else {
        references.into()
    };
    status.insert("active".to_owned(), references);
    let succeeded = finished
        .iter()
        .filter(|job| finished_condition(job) == Some("Complete"));
    let latest = succeeded
        .map(|job| text(&job["status"]["completionTime"]))
        .max();
    if let Some(latest) =
        latest.filter(|latest| *latest > text(&cron["status"]["lastSuccessfulTime"]))
    {
        status.insert("lastSuccessfulTime".to_owned(), latest.into());
    }
    let mut step = Plan::none();
    if cron["spec"]["suspend"] != true {
        match due(cron, ctx.now) {
            Due::Now(time) => {
                // Start times in the same minute share a job.
                let exists = finished
                    .iter()
                    .chain(&active)
                    .any(|job| name(job) == job_name(cron, time));
                let run = if exists {
                    Some(Vec::new())
                } else {
                    run(cron, &active, time)
                };
                if let Some(run) = run {
                    actions.extend(run);
                    status.insert("lastScheduleTime".to_owned(), time_text(time).into());
                }
            }
            Due::Delayed(time) => {
                let wait = Duration::try_from(time.duration_since(ctx.now)).unwrap_or_default();
                step = step.and_after(format!("due {time}"), wait, []);
            }
            Due::Never => {}
        }
    }
    actions.extend(Action::update_status("cronjobs", cron, &status));
    Plan { actions, ..step }
}

/// When a cron job runs next.
enum Due {
    /// The most recent scheduled time has passed without a run.
    Now(Timestamp),
    Delayed(Timestamp),
    Never,
}

fn due(cron: &Value, now: Timestamp) -> Due {
    let Ok(schedule) = Schedule::parse(text(&cron["spec"]["schedule"])) else {
        return Due::Never;
    };
    let zone = match cron["spec"]["timeZone"].as_str() {
        Some(zone) => TimeZone::get(zone).unwrap_or(TimeZone::UTC),
        None => TimeZone::UTC,
    };
    let since = [
        &cron["status"]["lastScheduleTime"],
        &cron["metadata"]["creationTimestamp"],
    ];
    let since = since
        .iter()
        .find_map(|time| text(time).parse::<Timestamp>().ok());
    let mut last = None;
    let mut time = since.unwrap_or(now);
    for _ in 0..MAX_MISSED {
        match schedule.next(time, &zone) {
            Some(next) if next <= now => {
                last = Some(next);
                time = next;
            }
            Some(next) if last.is_none() => return Due::Delayed(next),
            _ => break,
        }
    }
    last.map_or(Due::Never, Due::Now)
}

/// Creates the job for a scheduled time, unless the concurrency policy forbids it.
fn run(cron: &Value, active: &[&Arc<Value>], time: Timestamp) -> Option<Vec<Action>> {
    let mut actions = Vec::new();
    match text(&cron["spec"]["concurrencyPolicy"]) {
        "Forbid" if !active.is_empty() => return None,
        "Replace" => actions.extend(
            active
                .iter()
                .map(|job| Action::Delete(ObjectRef::of("jobs", job))),
        ),
        _ => {}
    }
    let template = &cron["spec"]["jobTemplate"];
    let mut metadata = json!({
        "name": job_name(cron, time),
        "namespace": namespace(cron),
        "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": time_text(time)},
        "ownerReferences": controller_reference(cron, "batch/v1", "CronJob"),
    });
    if let Some(labels) = template["metadata"].get("labels") {
        metadata["labels"] = labels.clone();
    }
    for (key, value) in template["metadata"]["annotations"]
        .as_object()
        .into_iter()
        .flatten()
    {
        metadata["annotations"][key] = value.clone();
    }
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]});
    actions.push(Action::Create("jobs", job));
    Some(actions)
}

fn job_name(cron: &Value, time: Timestamp) -> String {
    format!("{}-{}", name(cron), time.as_second() / 60)
}

/// The condition with which a job has finished.
fn finished_condition(job: &Value) -> Option<&'static str> {
    let is_true = |kind: &str| condition(job, kind).is_some_and(|found| found["status"] == "True");
    ["Complete", "Failed"]
        .into_iter()
        .find(|kind| is_true(kind))
}

/// Deletes the oldest finished jobs beyond the history limits.
fn clean_up(cron: &Value, finished: &[&Arc<Value>]) -> Vec<Action> {
    let limits = [
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ];
    let mut actions = Vec::new();
    for (condition, limit, default) in limits {
        let limit = integer(&cron["spec"][limit]).unwrap_or(default);
        let mut jobs: Vec<_> = finished
            .iter()
            .filter(|job| finished_condition(job) == Some(condition) && !is_deleting(job))
            .collect();
        jobs.sort_by_key(|job| text(&job["status"]["startTime"]).to_owned());
        let surplus = jobs
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        actions.extend(
            jobs.iter()
                .take(surplus)
                .map(|job| Action::Delete(ObjectRef::of("jobs", job))),
        );
    }
    actions
}

fn reference(job: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": name(job), "namespace": namespace(job), "uid": uid(job),
        "resourceVersion": job["metadata"]["resourceVersion"],
    })
}

fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
