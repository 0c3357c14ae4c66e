//! The release history: the records that describe what may be in the cluster now.
//!
//! These are the last deployed revision and all revisions after it, because failed and interrupted revisions may have
//! created objects too.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::Serialize;

use crate::cluster::Cluster;
use crate::error::{Error, chain};
use crate::id::ReleaseId;
use crate::record::{ChartSummary, Record, Status};
use crate::storage::{self, RevisionStatus};

/// Record reads at a time. Records are large.
const CONCURRENT_READS: usize = 4;

#[derive(Debug, Clone)]
pub struct History {
    id: ReleaseId,
    /// All stored revisions, oldest first.
    revisions: Vec<RevisionStatus>,
    /// The last deployed record and all after it, oldest first.
    records: Vec<Record>,
    /// Revisions whose records cannot be decoded.
    unreadable: BTreeSet<u32>,
}

/// An operation that was started and has not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingOperation {
    pub revision: u32,
    pub status: Status,
    pub since: Option<Timestamp>,
}

/// One line of `helm history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_field_names,
    reason = "Helm calls the number of a revision its revision"
)]
pub struct Revision {
    pub revision: u32,
    pub updated: Option<String>,
    pub status: Status,
    pub chart: ChartSummary,
    pub description: String,
}

/// Like [`load_history`], but sends no request if the existence cache shows that the release has no record. For installs
/// and upgrades only: if the cache is stale, creating the record of revision 1 fails. Uninstalls must not rely on it.
pub async fn load_history_cached(cluster: &Cluster, id: &ReleaseId) -> Result<History, Error> {
    if storage::is_known_absent(cluster, id) {
        return Ok(History::empty(id.clone()));
    }
    load_history(cluster, id).await
}

/// Lists the revisions by metadata, then reads the records from the last deployed one on. Those that cannot be decoded count
/// as missing: the next action writes the last of them again.
pub async fn load_history(cluster: &Cluster, id: &ReleaseId) -> Result<History, Error> {
    let revisions = storage::list_revisions(cluster, id).await?;
    let mut unreadable = BTreeSet::new();
    let mut known: BTreeMap<u32, Option<Record>> = BTreeMap::new();
    loop {
        let mut readable = revisions.clone();
        readable.retain(|revision| !unreadable.contains(&revision.revision));
        let relevant: Vec<u32> = relevant(&readable).iter().map(|r| r.revision).collect();
        let mut unread = relevant.clone();
        unread.retain(|revision| !known.contains_key(revision));
        if unread.is_empty() {
            let records = relevant
                .iter()
                .filter_map(|revision| known.remove(revision)?);
            return Ok(History {
                id: id.clone(),
                records: records.collect(),
                revisions,
                unreadable,
            });
        }
        let reads = stream::iter(unread).map(|revision| async move {
            let record = match storage::read(cluster, id, revision).await {
                Err(error @ Error::Record { .. }) if !error.is_record_too_large() => Err(error),
                read => Ok(read?),
            };
            Ok::<_, Error>((revision, record))
        });
        let read: Vec<(u32, Result<Option<Record>, Error>)> =
            reads.buffered(CONCURRENT_READS).try_collect().await?;
        for (revision, record) in read {
            match record {
                Ok(record) => {
                    known.insert(revision, record);
                }
                Err(error) => {
                    tracing::warn!(release = %id, error = chain(&error), "ignoring release record");
                    unreadable.insert(revision);
                }
            }
        }
    }
}

/// All revisions, oldest first. The description of one whose record is damaged says so.
pub async fn list_revisions(cluster: &Cluster, id: &ReleaseId) -> Result<Vec<Revision>, Error> {
    let records = storage::read_all(cluster, id).await?;
    let revisions = records.iter().map(|record| match record {
        Ok(record) => Revision::of(record),
        Err((status, error)) => Revision::damaged(*status, &chain(error)),
    });
    Ok(revisions.collect())
}

/// A revision that [`list_revisions`] does not find, because its record has lost its labels.
pub async fn read_unlisted_revision(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: u32,
) -> Result<Option<Revision>, Error> {
    let status = RevisionStatus {
        revision,
        status: Status::Unknown,
    };
    let reason = "it lacks the labels of a release record";
    let exists = storage::exists(cluster, id, revision).await?;
    Ok(exists.then(|| Revision::damaged(status, reason)))
}

/// The record of a revision; of the last one if `revision` is `None`.
pub async fn get_release(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
) -> Result<Record, Error> {
    let number = if let Some(revision) = revision {
        revision
    } else {
        let revisions = storage::list_revisions(cluster, id).await?;
        revisions.last().ok_or(Error::ReleaseNotFound)?.revision
    };
    let record = storage::read(cluster, id, number).await?;
    record.ok_or(match revision {
        Some(revision) => Error::RevisionNotFound(revision),
        None => Error::ReleaseNotFound,
    })
}

/// The last deployed revision and all after it.
fn relevant(revisions: &[RevisionStatus]) -> &[RevisionStatus] {
    let uninstalled = revisions
        .iter()
        .rposition(|revision| revision.status == Status::Uninstalled);
    let revisions = &revisions[uninstalled.map_or(0, |at| at + 1)..];
    let last = |status| {
        revisions
            .iter()
            .rposition(|revision| revision.status == status)
    };
    // Helm marks the old revision superseded before it marks the new one deployed: if it is interrupted in between, no
    // revision is deployed.
    let base = last(Status::Deployed).or_else(|| last(Status::Superseded));
    &revisions[base.unwrap_or(0)..]
}

impl History {
    /// The history of a release that does not exist yet.
    pub fn empty(id: ReleaseId) -> Self {
        Self {
            id,
            revisions: Vec::new(),
            records: Vec::new(),
            unreadable: BTreeSet::new(),
        }
    }

    pub fn id(&self) -> &ReleaseId {
        &self.id
    }

    /// The last revision, whatever its status.
    pub fn last(&self) -> Option<&Record> {
        self.records.last()
    }

    /// Whether the record of a revision exists and can be read.
    pub fn has_revision(&self, revision: i64) -> bool {
        let mut revisions = self.revisions.iter();
        revisions.any(|known| {
            i64::from(known.revision) == revision && !self.unreadable.contains(&known.revision)
        })
    }

    /// The deployed revision, if one was ever completed.
    pub fn deployed(&self) -> Option<&Record> {
        let first = self.records.first()?;
        let is_base = matches!(first.info.status, Status::Deployed | Status::Superseded);
        is_base.then_some(first)
    }

    /// The pending operation, if there is one. It may be running elsewhere; otherwise the next run resumes it.
    pub fn pending(&self) -> Option<PendingOperation> {
        let last = self.last()?;
        last.info.status.is_pending().then_some(PendingOperation {
            revision: last.revision,
            status: last.info.status,
            since: last.info.last_deployed,
        })
    }

    /// The operation of another tool, such as Helm, if it is the last one and has not finished.
    pub fn foreign_operation(&self) -> Option<PendingOperation> {
        let last = self.last().filter(|last| last.is_foreign)?;
        let info = &last.info;
        let since = match info.status {
            Status::Uninstalling => info.deleted,
            status if status.is_pending() => info.last_deployed,
            _ => return None,
        };
        Some(PendingOperation {
            revision: last.revision,
            status: info.status,
            since,
        })
    }

    /// Whether no record says that the release has objects in the cluster.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records whose objects may be in the cluster, the deployed one first.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The failed and pending revisions after the deployed one.
    pub(crate) fn attempts(&self) -> &[Record] {
        match self.deployed() {
            Some(_) => &self.records[1..],
            None => &self.records,
        }
    }

    pub(crate) fn revisions(&self) -> &[RevisionStatus] {
        &self.revisions
    }

    /// The number of the next revision. Unreadable records at the end are written again.
    pub(crate) fn next_revision(&self) -> u32 {
        let last = self.revisions.last();
        let mut next = last.map_or(1, |last| last.revision.saturating_add(1));
        while next > 1 && self.unreadable.contains(&(next - 1)) {
            next -= 1;
        }
        next
    }

    /// Whether no revision can follow the last one.
    pub(crate) fn is_exhausted(&self) -> bool {
        let last = self.revisions.last();
        last.is_some_and(|last| last.revision == storage::LAST_REVISION)
    }

    pub(crate) fn unreadable(&self) -> &BTreeSet<u32> {
        &self.unreadable
    }

    /// Whether the labels of the deployed record, by which Helm finds it, say so.
    pub(crate) fn is_marked_deployed(&self) -> bool {
        let Some(deployed) = self.deployed() else {
            return false;
        };
        let mut revisions = self.revisions.iter();
        let labeled = revisions.find(|known| known.revision == deployed.revision);
        deployed.info.status == Status::Deployed
            && labeled.is_some_and(|labeled| labeled.status == Status::Deployed)
    }

    /// The last revision, if it is pending or failed and can be resumed.
    pub(crate) fn resumable(&self) -> Option<&Record> {
        let last = self.attempts().last()?;
        let status = last.info.status;
        (status.is_pending() || status == Status::Failed).then_some(last)
    }

    #[cfg(test)]
    pub(crate) fn of_records(id: ReleaseId, records: Vec<Record>) -> Self {
        let revisions = records.iter().map(|record| RevisionStatus {
            revision: record.revision,
            status: record.info.status,
        });
        Self {
            id,
            revisions: revisions.collect(),
            records,
            unreadable: BTreeSet::new(),
        }
    }
}

impl Revision {
    pub(crate) fn of(record: &Record) -> Self {
        let info = &record.info;
        Self {
            revision: record.revision,
            updated: info.last_deployed.map(|time| time.to_string()),
            status: info.status,
            chart: record.chart.summary().clone(),
            description: info.description.clone(),
        }
    }

    fn damaged(known: RevisionStatus, reason: &str) -> Self {
        Self {
            revision: known.revision,
            updated: None,
            status: known.status,
            chart: ChartSummary::default(),
            description: format!("release record is damaged: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relevant_numbers(statuses: &[Status]) -> Vec<u32> {
        let revisions: Vec<RevisionStatus> = (1..)
            .zip(statuses)
            .map(|(revision, &status)| RevisionStatus { revision, status })
            .collect();
        relevant(&revisions).iter().map(|r| r.revision).collect()
    }

    #[test]
    fn the_deployed_revision_and_all_later_attempts_are_relevant() {
        use Status::*;
        assert_eq!(relevant_numbers(&[]), [0; 0]);
        assert_eq!(relevant_numbers(&[Superseded, Deployed]), [2]);
        assert_eq!(
            relevant_numbers(&[Superseded, Deployed, Failed, PendingUpgrade]),
            [2, 3, 4]
        );
        assert_eq!(relevant_numbers(&[Failed, PendingInstall]), [1, 2]);
    }

    #[test]
    fn the_last_superseded_revision_is_the_base_if_none_is_deployed() {
        use Status::*;
        assert_eq!(
            relevant_numbers(&[Superseded, Superseded, PendingUpgrade]),
            [2, 3]
        );
    }

    #[test]
    fn revisions_before_an_uninstall_are_not_relevant() {
        use Status::*;
        assert_eq!(relevant_numbers(&[Superseded, Uninstalled]), [0; 0]);
        assert_eq!(
            relevant_numbers(&[Superseded, Uninstalled, PendingInstall]),
            [3]
        );
    }
}
