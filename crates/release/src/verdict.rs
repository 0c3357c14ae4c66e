//! Corrects the record of an applied revision once it is known whether its objects became healthy.
//!
//! An action that does not wait records its revision as deployed. With a verdict the records read as if it had waited.

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::id::ReleaseId;
use crate::record::{Record, Status};
use crate::storage::{self, RevisionStatus};

/// Whether the objects of a revision became healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// With the description of the record, if it is not the default.
    Healthy(Option<String>),
    /// With the reason.
    Failed(String),
}

/// Records the verdict on the last revision. Returns the new resource version of its record, or `None` if a later revision
/// exists, or the record says so already.
pub async fn record_verdict(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: u32,
    verdict: Verdict,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    let revisions = storage::list_revisions(cluster, id).await?;
    let Some((_, earlier)) = revisions
        .split_last()
        .filter(|(last, _)| last.revision == revision)
    else {
        return Ok(None);
    };
    let Some(mut record) = storage::read(cluster, id, revision).await? else {
        return Ok(None);
    };
    let (status, description) = match (record.info.status, verdict) {
        (Status::Failed, Verdict::Healthy(description)) => {
            let default = || Operation::of(&record).completed(earlier);
            (Status::Deployed, description.unwrap_or_else(default))
        }
        (Status::Deployed, Verdict::Failed(reason)) => {
            let operation = Operation::of(&record).name();
            let description = format!("{operation} {:?} failed: {reason}", id.name);
            (Status::Failed, description)
        }
        _ => return Ok(None),
    };
    record.info.status = status;
    record.info.description = description;
    let version = storage::update(cluster, &record, now).await?;
    // If this is interrupted, the newest deployed revision counts, or else the last superseded one.
    let (from, to) = match status {
        Status::Deployed => (Status::Deployed, Status::Superseded),
        _ => (Status::Superseded, Status::Deployed),
    };
    let is_deployed = earlier.iter().any(|known| known.status == Status::Deployed);
    let previous = earlier.iter().rfind(|known| known.status == from);
    if let Some(previous) = previous.filter(|_| status == Status::Deployed || !is_deployed)
        && let Some(mut previous) = storage::read(cluster, id, previous.revision).await?
    {
        previous.info.status = to;
        storage::update(cluster, &previous, now).await?;
    }
    Ok(version)
}

/// What made a revision. Its record says so only by the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Install,
    Upgrade,
    Rollback,
}

impl Operation {
    fn of(record: &Record) -> Self {
        let description = record.info.description.as_str();
        let starts_with = |word: &str| description.starts_with(word);
        if starts_with("Rollback ") {
            Self::Rollback
        } else if starts_with("Install ") || starts_with("Release ") || record.revision == 1 {
            Self::Install
        } else {
            Self::Upgrade
        }
    }

    /// The name in Helm's description of a failure.
    fn name(self) -> &'static str {
        match self {
            Self::Install => "Release",
            Self::Upgrade => "Upgrade",
            Self::Rollback => "Rollback",
        }
    }

    /// Helm's description of a success.
    fn completed(self, earlier: &[RevisionStatus]) -> String {
        match self {
            Self::Install if earlier.is_empty() => "Install complete".to_owned(),
            Self::Rollback => "Rollback complete".to_owned(),
            _ => "Upgrade complete".to_owned(),
        }
    }
}
