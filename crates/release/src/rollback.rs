//! Goes back to an earlier revision, by a new one that is like it.

use crate::cluster::Cluster;
use crate::desired::Desired;
use crate::error::Error;
use crate::execute::{Outcome, execute};
use crate::failure::Failure;
use crate::id::ReleaseId;
use crate::observe::observe;
use crate::options::Options;
use crate::past::{Past, past};
use crate::plan::{Plan, plan};
use crate::progress::Sink;
use crate::record::Status;
use crate::storage;

/// Goes back to a revision; to the last good one before the present if none is named.
pub async fn rollback(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
    options: &Options,
    progress: Sink<'_>,
) -> Result<Outcome, Failure> {
    let plan = plan_rollback(cluster, id, revision, options).await?;
    execute(cluster, plan, options, progress).await
}

/// What going back would do.
pub async fn plan_rollback(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
    options: &Options,
) -> Result<Plan, Failure> {
    let past = past(cluster, id).await?;
    let revision = match revision {
        Some(revision) => revision,
        None => last_good(&past).ok_or(Error::NotFound)?,
    };
    let record = storage::read(cluster, id, revision).await?;
    let record = record.ok_or(Error::NoRevision(revision))?;
    if record.is_skeleton {
        return Err(Error::Incomplete(revision).into());
    }
    let desired = Desired::from_record(cluster, &past, record).await?;
    let observed = observe(cluster, past, &desired).await?;
    Ok(plan(desired, observed, options)?)
}

/// The last revision before the present one that was good once.
fn last_good(past: &Past) -> Option<u32> {
    let last = past.marks().last()?.revision;
    let good = [Status::Superseded, Status::Deployed];
    let marks = past.marks().iter().rev();
    let mut marks = marks.filter(|mark| mark.revision < last && good.contains(&mark.status));
    marks.next().map(|mark| mark.revision)
}
