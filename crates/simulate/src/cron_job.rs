//! Cron jobs: a Job for each time of the schedule, and only so many that have ended.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::object::{
    condition, controlled_by, difference, integer, is_deleting, name, namespace, text, uid,
};
use super::schedule::Schedule;
use super::step::{Action, Step, View};
use super::world::Id;

/// Most times that were missed and are looked at.
const MOST_MISSED: usize = 100;

pub(super) fn next(cron: &Value, view: &View<'_>) -> Step {
    if is_deleting(cron) {
        return Step::nothing();
    }
    let jobs = view.world.controlled("jobs", uid(cron));
    let (ended, active): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| end_of(job).is_some());
    let mut actions = clean_up(cron, &ended);
    let mut status = Map::new();
    let references: Vec<Value> = active.iter().map(|job| reference(job)).collect();
    let references = if references.is_empty() {
        Value::Null
    } else {
        references.into()
    };
    status.insert("active".to_owned(), references);
    let succeeded = ended.iter().filter(|job| end_of(job) == Some("Complete"));
    let latest = succeeded
        .map(|job| text(&job["status"]["completionTime"]))
        .max();
    if let Some(latest) =
        latest.filter(|latest| *latest > text(&cron["status"]["lastSuccessfulTime"]))
    {
        status.insert("lastSuccessfulTime".to_owned(), latest.into());
    }
    let mut step = Step::nothing();
    if cron["spec"]["suspend"] != true {
        match due(cron, view.now) {
            Due::Now(time) => {
                // Two times in one minute have the same job.
                let is_there = ended
                    .iter()
                    .chain(&active)
                    .any(|job| name(job) == job_name(cron, time));
                let run = if is_there {
                    Some(Vec::new())
                } else {
                    run(cron, &active, time)
                };
                if let Some(run) = run {
                    actions.extend(run);
                    status.insert("lastScheduleTime".to_owned(), time_text(time).into());
                }
            }
            Due::Later(time) => {
                let wait = Duration::try_from(time.duration_since(view.now)).unwrap_or_default();
                step = step.and_later(format!("due {time}"), wait, []);
            }
            Due::Never => {}
        }
    }
    if let Some(change) = difference(&cron["status"], &status) {
        actions.push(Action::Status(Id::of("cronjobs", cron), change));
    }
    Step { actions, ..step }
}

/// When a cron job is to run.
enum Due {
    /// At this time, which has come.
    Now(Timestamp),
    Later(Timestamp),
    Never,
}

fn due(cron: &Value, now: Timestamp) -> Due {
    let Some(schedule) = Schedule::parse(text(&cron["spec"]["schedule"])) else {
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
    for _ in 0..MOST_MISSED {
        match schedule.next(time, &zone) {
            Some(next) if next <= now => {
                last = Some(next);
                time = next;
            }
            Some(next) if last.is_none() => return Due::Later(next),
            _ => break,
        }
    }
    last.map_or(Due::Never, Due::Now)
}

/// The job for a time, unless one that runs is in its way.
fn run(cron: &Value, active: &[&Arc<Value>], time: Timestamp) -> Option<Vec<Action>> {
    let mut actions = Vec::new();
    match text(&cron["spec"]["concurrencyPolicy"]) {
        "Forbid" if !active.is_empty() => return None,
        "Replace" => actions.extend(active.iter().map(|job| Action::Delete(Id::of("jobs", job)))),
        _ => {}
    }
    let template = &cron["spec"]["jobTemplate"];
    let mut metadata = json!({
        "name": job_name(cron, time),
        "namespace": namespace(cron),
        "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": time_text(time)},
        "ownerReferences": controlled_by(cron, "batch/v1", "CronJob"),
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

/// How a job has ended, if it has.
fn end_of(job: &Value) -> Option<&'static str> {
    let is_true = |kind: &str| condition(job, kind).is_some_and(|found| found["status"] == "True");
    ["Complete", "Failed"]
        .into_iter()
        .find(|kind| is_true(kind))
}

/// The oldest of those that have ended go.
fn clean_up(cron: &Value, ended: &[&Arc<Value>]) -> Vec<Action> {
    let limits = [
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ];
    let mut actions = Vec::new();
    for (end, limit, default) in limits {
        let limit = integer(&cron["spec"][limit]).unwrap_or(default);
        let mut jobs: Vec<_> = ended
            .iter()
            .filter(|job| end_of(job) == Some(end) && !is_deleting(job))
            .collect();
        jobs.sort_by_key(|job| text(&job["status"]["startTime"]).to_owned());
        let surplus = jobs
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        actions.extend(
            jobs.iter()
                .take(surplus)
                .map(|job| Action::Delete(Id::of("jobs", job))),
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
