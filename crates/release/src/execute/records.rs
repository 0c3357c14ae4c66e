//! Writes the release record of an action: pending before the first object, then deployed or failed.

use outrigger_chart::manifest::hook::Event;
use serde_json::json;

use super::{Context, hooks};
use crate::action::Action;
use crate::action_error::ActionError;
use crate::cluster::ApplyOptions;
use crate::error::{Error, chain};
use crate::history::History;
use crate::id::ObjectId;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::record::{Hook, Record, Status, secret};
use crate::storage::{self, CreateError, RevisionStatus};

/// Writes the pending record. From now on the action can be resumed.
pub(super) async fn begin(context: &Context<'_>, plan: &Plan) -> Result<Record, ActionError> {
    let now = (context.options.now)();
    let history = &plan.observed.history;
    if history.is_exhausted() && !plan.is_resumed {
        let names = storage::list_last_revisions(context.cluster, history.id()).await?;
        let name = names.first().map_or_else(String::new, Clone::clone);
        return Err(Error::LastRevision(format!("{}/{name}", history.id().namespace)).into());
    }
    let mut record = plan.desired.record();
    let first = history.records().first();
    record.info.first_deployed = first
        .and_then(|first| first.info.first_deployed)
        .or(Some(now));
    record.info.last_deployed = Some(now);
    match history.resumable().filter(|_| plan.is_resumed) {
        Some(attempt) => {
            record
                .resource_version
                .clone_from(&attempt.resource_version);
            if attempt.info.status.is_pending() {
                resume_hooks(&mut record.hooks, &attempt.hooks);
            }
            storage::update_own(context.cluster, &mut record, now).await?;
        }
        None => create(context, &mut record).await?,
    }
    // Includes attempts that an interrupted run should have marked failed.
    let others = history.attempts().iter();
    let others = others.filter(|attempt| attempt.revision != record.revision);
    fail_attempts(context, others).await;
    delete_unreadable(context, history, record.revision).await;
    (context.progress)(Progress::RecordWritten {
        action: plan.action,
        revision: record.revision,
    });
    Ok(record)
}

/// Marks the revision deployed, then earlier ones superseded. If this is interrupted in between, the newest deployed
/// revision counts. Returns the resource version of the record.
pub(super) async fn succeed(
    context: &Context<'_>,
    plan: &Plan,
    mut record: Record,
) -> Result<Option<String>, ActionError> {
    let default = match plan.action {
        Action::Upgrade => "Upgrade complete".to_owned(),
        Action::Rollback => record.info.description.clone(),
        _ => "Install complete".to_owned(),
    };
    let description = context.options.description.clone();
    record.info.description = description.unwrap_or(default);
    record.info.status = Status::Deployed;
    let now = (context.options.now)();
    storage::update_own(context.cluster, &mut record, now).await?;
    supersede_others(context, plan, record.revision).await;
    let max = context.options.max_history;
    let history = &plan.observed.history;
    // Until its objects are healthy, the revision may still fail: the one before it is the way back.
    let previous = history.deployed().filter(|_| !context.options.wait);
    let kept = [Some(record.revision), previous.map(|last| last.revision)];
    for revision in surplus(history.revisions(), &kept, max) {
        let deleted = storage::delete(context.cluster, &record.id, revision).await;
        log_error(deleted, "failed to delete old release record");
    }
    Ok(record.resource_version)
}

/// Continues where an interrupted run has stopped.
fn resume_hooks(hooks: &mut [Hook], interrupted: &[Hook]) {
    for hook in hooks {
        let is_same = |other: &&Hook| {
            (&other.kind, &other.name, &other.manifest) == (&hook.kind, &hook.name, &hook.manifest)
        };
        if let Some(interrupted) = interrupted.iter().find(is_same) {
            hook.last_run = interrupted.last_run.clone();
        }
    }
}

/// Marks the deployed revision deployed, if its status was changed. Returns the resource version of its record.
pub(super) async fn confirm(
    context: &Context<'_>,
    plan: &Plan,
) -> Result<Option<String>, ActionError> {
    let history = &plan.observed.history;
    let Some(deployed) = history.deployed() else {
        return Ok(None);
    };
    delete_unreadable(context, history, deployed.revision).await;
    let has_stopped_uninstall = |hook: &Hook| hook.last_run.event == Event::PreDelete.name();
    let is_clean = !deployed.hooks.iter().any(has_stopped_uninstall);
    if history.is_marked_deployed() && is_clean {
        return Ok(deployed.resource_version.clone());
    }
    let mut record = deployed.clone();
    hooks::forget(&mut record.hooks, Event::PreDelete);
    record.info.status = Status::Deployed;
    let now = (context.options.now)();
    Ok(storage::update(context.cluster, &record, now).await?)
}

/// Deletes the unreadable records of revisions after the current one.
async fn delete_unreadable(context: &Context<'_>, history: &History, current: u32) {
    for &revision in history.unreadable() {
        if revision > current {
            let deleted = storage::delete(context.cluster, history.id(), revision).await;
            log_error(deleted, "failed to delete unreadable release record");
        }
    }
}

/// Marks the revision failed, with the error as description.
pub(super) async fn fail(
    context: &Context<'_>,
    action: Action,
    mut record: Record,
    error: &ActionError,
) {
    let what = match action {
        Action::Upgrade => "Upgrade",
        Action::Rollback => "Rollback",
        _ => "Release",
    };
    let name = &record.id.name;
    record.info.description = format!("{what} {name:?} failed: {}", error.full_message());
    record.info.status = Status::Failed;
    let now = (context.options.now)();
    let updated = storage::update_own(context.cluster, &mut record, now).await;
    log_error(updated, "failed to mark release record failed");
}

/// Marks all other deployed and uninstalling revisions superseded, also those that an interrupted run left.
pub(super) async fn supersede_others(context: &Context<'_>, plan: &Plan, current: u32) {
    for revision in current_revisions(context, plan).await {
        let is_open = match revision.status {
            Status::Deployed => revision.revision < current,
            Status::Uninstalling => revision.revision != current,
            _ => false,
        };
        if is_open {
            let superseded = supersede(context, plan, revision.revision).await;
            log_error(superseded, "failed to mark release record superseded");
        }
    }
}

/// The revisions of the history. If another tool started one of them, it may have finished since: they are listed again.
async fn current_revisions(context: &Context<'_>, plan: &Plan) -> Vec<RevisionStatus> {
    let history = &plan.observed.history;
    if history.attempts().iter().any(|attempt| attempt.is_foreign) {
        match storage::list_revisions(context.cluster, history.id()).await {
            Ok(revisions) => return revisions,
            Err(error) => log_error(Err(error), "failed to list release records"),
        }
    }
    history.revisions().to_vec()
}

/// Logs errors that do not fail the action.
fn log_error(result: Result<(), Error>, message: &'static str) {
    if let Err(error) = result {
        tracing::warn!(error = chain(&error), "{message}");
    }
}

async fn create(context: &Context<'_>, record: &mut Record) -> Result<(), ActionError> {
    let now = (context.options.now)();
    let mut created = storage::create(context.cluster, record, now).await;
    if matches!(created, Err(CreateError::NamespaceNotFound)) && context.options.create_namespace {
        create_namespace(context, &record.id.namespace).await?;
        created = storage::create(context.cluster, record, now).await;
    }
    if matches!(created, Err(CreateError::Damaged)) {
        record.resource_version = storage::update(context.cluster, record, now).await?;
        return Ok(());
    }
    created.map_err(|error| {
        let error = match error {
            CreateError::Damaged | CreateError::Foreign => {
                let name = secret::name(&record.id.name, record.revision);
                Error::ForeignSecret(format!("{}/{name}", record.id.namespace))
            }
            CreateError::AlreadyExists => Error::OperationInProgress(record.id.to_string()),
            CreateError::NamespaceNotFound => Error::NamespaceNotFound(record.id.namespace.clone()),
            CreateError::Storage(error) => error,
        };
        error.into()
    })
}

/// Creates a namespace with the label that Helm sets.
pub(super) async fn create_namespace(context: &Context<'_>, name: &str) -> Result<(), Error> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"name": name}},
    });
    let id = ObjectId::of(&namespace);
    let options = ApplyOptions::default();
    let applied = context.cluster.apply(&id, &namespace, options).await;
    applied.map(|_| ())
}

/// Marks pending revisions failed, because a newer revision replaces them.
async fn fail_attempts(context: &Context<'_>, attempts: impl Iterator<Item = &Record>) {
    for attempt in attempts {
        if attempt.info.status.is_pending() {
            let mut attempt = attempt.clone();
            attempt.info.status = Status::Failed;
            "Interrupted, and given up for a newer revision"
                .clone_into(&mut attempt.info.description);
            let now = (context.options.now)();
            let updated = storage::update(context.cluster, &attempt, now).await;
            log_error(
                updated.map(drop),
                "failed to mark interrupted release record failed",
            );
        }
    }
}

async fn supersede(context: &Context<'_>, plan: &Plan, revision: u32) -> Result<(), Error> {
    let history = &plan.observed.history;
    let deployed = history.deployed();
    let record = match deployed.filter(|deployed| deployed.revision == revision) {
        Some(deployed) => Some(deployed.clone()),
        None => storage::read(context.cluster, history.id(), revision).await?,
    };
    let Some(mut record) = record else {
        return Ok(());
    };
    record.info.status = Status::Superseded;
    let updated = storage::update(context.cluster, &record, (context.options.now)()).await;
    updated.map(drop)
}

/// The oldest revisions beyond `max`, without those that are kept; none if `max` is 0.
fn surplus(revisions: &[RevisionStatus], kept: &[Option<u32>], max: usize) -> Vec<u32> {
    let others: Vec<u32> = revisions
        .iter()
        .map(|revision| revision.revision)
        .filter(|revision| !kept.contains(&Some(*revision)))
        .collect();
    match max {
        0 => Vec::new(),
        max => {
            let kept = kept.iter().flatten().count();
            let surplus = (others.len() + kept).saturating_sub(max);
            others[..surplus.min(others.len())].to_vec()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_revisions_are_deleted_but_never_the_current_one() {
        let revisions: Vec<RevisionStatus> = (1..=4)
            .map(|revision| RevisionStatus {
                revision,
                status: Status::Superseded,
            })
            .collect();
        assert_eq!(surplus(&revisions, &[Some(5)], 3), [1, 2]);
        assert_eq!(surplus(&revisions, &[Some(5)], 10), [0; 0]);
        assert_eq!(surplus(&revisions, &[Some(5)], 0), [0; 0]);
        assert_eq!(surplus(&revisions, &[Some(4)], 1), [1, 2, 3]);
        assert_eq!(surplus(&revisions, &[Some(5), Some(1)], 3), [2, 3]);
    }
}
