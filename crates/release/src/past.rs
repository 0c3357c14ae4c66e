//! The past of a release: the records that say what is in the cluster now.
//!
//! Those are the last revision that was deployed and all that came after it: attempts that failed or were stopped
//! half-way may have left objects too.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::Serialize;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::id::ReleaseId;
use crate::record::{Record, Status, Title};
use crate::storage::{self, Mark};

/// What is known of a release before it is worked on.
#[derive(Debug, Clone)]
pub struct Past {
    id: ReleaseId,
    marks: Vec<Mark>,
    /// The last deployed record and all after it, oldest first.
    records: Vec<Record>,
}

/// An operation that somebody began and did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    pub revision: u32,
    pub status: Status,
    /// When it was begun, if the record says so.
    pub since: Option<Timestamp>,
}

/// One revision of a release, for people.
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
    pub chart: Title,
    pub description: String,
}

/// The past of a release that is going to be installed or upgraded. If nobody has seen a record of it, nobody is asked:
/// should there be one after all, the first record cannot be made. A removal must be sure, and asks.
pub async fn past_if_seen(cluster: &Cluster, id: &ReleaseId) -> Result<Past, Error> {
    if storage::are_none_seen(cluster, id) {
        return Ok(Past::none(id.clone()));
    }
    past(cluster, id).await
}

/// Reads the records that count: one list of names, and one read for each of them.
pub async fn past(cluster: &Cluster, id: &ReleaseId) -> Result<Past, Error> {
    let marks = storage::marks(cluster, id).await?;
    let reads: Vec<u32> = relevant(&marks).iter().map(|mark| mark.revision).collect();
    let records = stream::iter(reads).map(|revision| storage::read(cluster, id, revision));
    let records: Vec<Option<Record>> = records.buffered(4).try_collect().await?;
    Ok(Past {
        id: id.clone(),
        marks,
        records: records.into_iter().flatten().collect(),
    })
}

/// All revisions, oldest first.
pub async fn history(cluster: &Cluster, id: &ReleaseId) -> Result<Vec<Revision>, Error> {
    let records = storage::all(cluster, id).await?;
    Ok(records.iter().map(Revision::of).collect())
}

/// One revision; the last one if none is named.
pub async fn release(
    cluster: &Cluster,
    id: &ReleaseId,
    revision: Option<u32>,
) -> Result<Record, Error> {
    let wanted = if let Some(revision) = revision {
        revision
    } else {
        let marks = storage::marks(cluster, id).await?;
        marks.last().ok_or(Error::NotFound)?.revision
    };
    let record = storage::read(cluster, id, wanted).await?;
    record.ok_or(match revision {
        Some(revision) => Error::NoRevision(revision),
        None => Error::NotFound,
    })
}

/// The marks of the last deployed revision and of all after it.
fn relevant(marks: &[Mark]) -> &[Mark] {
    let removed = marks
        .iter()
        .rposition(|mark| mark.status == Status::Uninstalled);
    let marks = &marks[removed.map_or(0, |at| at + 1)..];
    let last = |status| marks.iter().rposition(|mark| mark.status == status);
    // Helm marks the old revision before the new one: stopped in between, none is deployed.
    let base = last(Status::Deployed).or_else(|| last(Status::Superseded));
    &marks[base.unwrap_or(0)..]
}

impl Past {
    /// A release that does not exist yet.
    pub fn none(id: ReleaseId) -> Self {
        Self {
            id,
            marks: Vec::new(),
            records: Vec::new(),
        }
    }

    pub fn id(&self) -> &ReleaseId {
        &self.id
    }

    /// The last revision, whatever became of it.
    pub fn last(&self) -> Option<&Record> {
        self.records.last()
    }

    /// The revision that is in the cluster, if one was ever completed.
    pub fn deployed(&self) -> Option<&Record> {
        let first = self.records.first()?;
        let is_base = matches!(first.info.status, Status::Deployed | Status::Superseded);
        is_base.then_some(first)
    }

    /// The operation that was not ended, if there is one. It may be somebody else's who is still at it; otherwise it
    /// is taken over.
    pub fn pending(&self) -> Option<Pending> {
        let last = self.last()?;
        last.info.status.is_pending().then_some(Pending {
            revision: last.revision,
            status: last.info.status,
            since: last.info.last_deployed,
        })
    }

    /// Whether nothing of the release is in the cluster, as far as records tell.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Records that may have left objects, the deployed one first.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The attempts after the deployed revision.
    pub(crate) fn attempts(&self) -> &[Record] {
        match self.deployed() {
            Some(_) => &self.records[1..],
            None => &self.records,
        }
    }

    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The number of the revision after the last.
    pub(crate) fn next_revision(&self) -> u32 {
        self.marks.last().map_or(1, |mark| mark.revision + 1)
    }

    /// The attempt that can be gone on with: the last one, if it did not come to its end.
    pub(crate) fn resumable(&self) -> Option<&Record> {
        let last = self.attempts().last()?;
        let status = last.info.status;
        (status.is_pending() || status == Status::Failed).then_some(last)
    }

    #[cfg(test)]
    pub(crate) fn of_records(id: ReleaseId, records: Vec<Record>) -> Self {
        let marks = records.iter().map(|record| Mark {
            revision: record.revision,
            status: record.info.status,
        });
        Self {
            id,
            marks: marks.collect(),
            records,
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
            chart: record.chart.title().clone(),
            description: info.description.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revisions(statuses: &[Status]) -> Vec<u32> {
        let marks: Vec<Mark> = (1..)
            .zip(statuses)
            .map(|(revision, &status)| Mark { revision, status })
            .collect();
        relevant(&marks).iter().map(|mark| mark.revision).collect()
    }

    #[test]
    fn what_was_deployed_last_and_every_attempt_since_counts() {
        use Status::*;
        assert_eq!(revisions(&[]), [0; 0]);
        assert_eq!(revisions(&[Superseded, Deployed]), [2]);
        assert_eq!(
            revisions(&[Superseded, Deployed, Failed, PendingUpgrade]),
            [2, 3, 4]
        );
        assert_eq!(revisions(&[Failed, PendingInstall]), [1, 2]);
    }

    #[test]
    fn without_a_deployed_revision_the_last_superseded_one_counts() {
        use Status::*;
        assert_eq!(revisions(&[Superseded, Superseded, PendingUpgrade]), [2, 3]);
    }

    #[test]
    fn nothing_counts_that_came_before_the_release_was_removed() {
        use Status::*;
        assert_eq!(revisions(&[Superseded, Uninstalled]), [0; 0]);
        assert_eq!(revisions(&[Superseded, Uninstalled, PendingInstall]), [3]);
    }
}
