//! Rollback: deploys the contents of an earlier revision as a new one.

use crate::action::Action;
use crate::action_error::ActionError;
use crate::cluster::Cluster;
use crate::desired::Desired;
use crate::error::Error;
use crate::execute::{Outcome, execute};
use crate::history::{History, load_history};
use crate::id::ReleaseId;
use crate::observe::observe;
use crate::options::Options;
use crate::plan::{Plan, plan};
use crate::progress::Sink;
use crate::record::Status;
use crate::storage;

/// Rolls back to a revision; to the last successful one before the current if `revision` is `None`.
pub async fn rollback(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
    options: &Options,
    progress: Sink<'_>,
) -> Result<Outcome, ActionError> {
    let plan = plan_rollback(cluster, id, revision, options).await?;
    execute(cluster, plan, options, progress).await
}

/// Corrects drift in the deployed revision, from its record. Makes no new revision. Returns `None` if it is not `revision`, or
/// if a later one was attempted.
pub async fn repair(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: i64,
    options: &Options,
    progress: Sink<'_>,
) -> Result<Option<Outcome>, ActionError> {
    let history = load_history(cluster, id).await?;
    let settled = history.deployed().filter(|_| history.attempts().is_empty());
    let record = settled.filter(|record| i64::from(record.revision) == revision);
    let Some(record) = record.filter(|record| !record.is_truncated).cloned() else {
        return Ok(None);
    };
    let mut desired = Desired::from_record(cluster, &history, record).await?;
    desired.action = Action::Upgrade;
    let observed = observe(cluster, history, &desired).await?;
    let plan = plan(desired, observed, options)?;
    Ok(Some(execute(cluster, plan, options, progress).await?))
}

/// Plans a rollback.
pub async fn plan_rollback(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
    options: &Options,
) -> Result<Plan, ActionError> {
    let history = load_history(cluster, id).await?;
    let revision = match revision {
        Some(revision) => revision,
        None => last_successful(&history).ok_or(Error::ReleaseNotFound)?,
    };
    let record = storage::read(cluster, id, revision).await?;
    let record = record.ok_or(Error::RevisionNotFound(revision))?;
    if record.is_truncated {
        return Err(Error::RecordTruncated(revision).into());
    }
    let desired = Desired::from_record(cluster, &history, record).await?;
    let observed = observe(cluster, history, &desired).await?;
    Ok(plan(desired, observed, options)?)
}

/// The last revision before the current one that was deployed successfully.
fn last_successful(history: &History) -> Option<u32> {
    let (_, earlier) = history.revisions().split_last()?;
    let successful = earlier
        .iter()
        .rfind(|revision| matches!(revision.status, Status::Superseded | Status::Deployed));
    successful.map(|revision| revision.revision)
}
