//! The records of a run: pending before the first object, deployed or failed at the end.

use serde_json::json;

use super::Context;
use crate::action::Action;
use crate::cluster::Apply;
use crate::error::Error;
use crate::failure::Failure;
use crate::id::ObjectId;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::record::{Record, Status};
use crate::storage::{self, Mark, NotCreated};

/// The record of this run.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) current: Record,
}

impl Records {
    /// Writes the pending record. From now on a kill leaves an inventory.
    pub(super) async fn begin(context: &Context<'_>, plan: &Plan) -> Result<Self, Failure> {
        let now = (context.options.now)();
        let past = &plan.work.observed.past;
        let mut record = plan.desired().record();
        let first = past.records().first();
        record.info.first_deployed = first
            .and_then(|first| first.info.first_deployed)
            .or(Some(now));
        record.info.last_deployed = Some(now);
        if plan.work.resumes {
            storage::update(context.cluster, &record, now).await?;
        } else {
            create(context, &record).await?;
        }
        // Also those that a run should have given up that was stopped before it did.
        let others = past.attempts().iter();
        let others = others.filter(|attempt| attempt.revision != record.revision);
        give_up_attempts(context, others).await;
        (context.progress)(Progress::Recorded {
            action: plan.action,
            revision: record.revision,
        });
        Ok(Self { current: record })
    }

    /// The same with what was noted during the run.
    pub(super) fn with(self, noted: Option<Record>) -> Self {
        Self {
            current: noted.unwrap_or(self.current),
        }
    }

    /// Marks the revision deployed, then those before it superseded: stopped in between, the newest counts.
    pub(super) async fn succeed(
        mut self,
        context: &Context<'_>,
        plan: &Plan,
    ) -> Result<(), Failure> {
        let default = match plan.action {
            Action::Upgrade => "Upgrade complete".to_owned(),
            Action::Rollback => self.current.info.description.clone(),
            _ => "Install complete".to_owned(),
        };
        let description = context.options.description.clone();
        self.current.info.description = description.unwrap_or(default);
        self.current.info.status = Status::Deployed;
        let now = (context.options.now)();
        storage::update(context.cluster, &self.current, now).await?;
        settle_others(context, plan, self.current.revision).await;
        let keep = context.options.history;
        for revision in surplus(plan.work.observed.past.marks(), self.current.revision, keep) {
            let id = &self.current.id;
            let deleted = storage::delete(context.cluster, id, revision).await;
            warn(deleted, "an old revision could not be deleted");
        }
        Ok(())
    }

    /// Marks the revision failed, and says why.
    pub(super) async fn fail(mut self, context: &Context<'_>, action: Action, failure: &Failure) {
        let what = match action {
            Action::Upgrade => "Upgrade",
            Action::Rollback => "Rollback",
            _ => "Release",
        };
        let name = &self.current.id.name;
        self.current.info.description = format!("{what} {name:?} failed: {}", failure.text());
        self.current.info.status = Status::Failed;
        let now = (context.options.now)();
        let written = storage::update(context.cluster, &self.current, now).await;
        warn(written, "a failure could not be recorded");
    }
}

/// Marks other revisions superseded that are still called deployed, or whose removal was not ended: those before, also
/// if the run that should have done it was stopped.
pub(super) async fn settle_others(context: &Context<'_>, plan: &Plan, current: u32) {
    for mark in plan.work.observed.past.marks() {
        let is_open = matches!(mark.status, Status::Deployed | Status::Uninstalling);
        if is_open && mark.revision != current {
            let superseded = supersede(context, plan, mark.revision).await;
            warn(superseded, "a revision could not be superseded");
        }
    }
}

/// The record matters more than this.
fn warn(result: Result<(), Error>, what: &'static str) {
    if let Err(error) = result {
        tracing::warn!(error = crate::error::chain(&error), "{what}");
    }
}

async fn create(context: &Context<'_>, record: &Record) -> Result<(), Failure> {
    let now = (context.options.now)();
    let mut created = storage::create(context.cluster, record, now).await;
    if matches!(created, Err(NotCreated::NoNamespace)) && context.options.create_namespace {
        create_namespace(context, &record.id.namespace).await?;
        created = storage::create(context.cluster, record, now).await;
    }
    match created {
        Ok(()) => Ok(()),
        Err(NotCreated::Exists) => Err(Error::Busy(record.id.to_string()).into()),
        Err(NotCreated::NoNamespace) => Err(Error::NoNamespace(record.id.namespace.clone()).into()),
        Err(NotCreated::Failed(error)) => Err(error.into()),
    }
}

/// As Helm makes it.
async fn create_namespace(context: &Context<'_>, name: &str) -> Result<(), Error> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"name": name}},
    });
    let id = ObjectId::of(&namespace);
    let applied = context.cluster.apply(&id, &namespace, Apply::default());
    applied.await.map(|_| ())
}

/// Attempts that nobody will complete any more are failed ones.
async fn give_up_attempts(context: &Context<'_>, attempts: impl Iterator<Item = &Record>) {
    for attempt in attempts {
        if attempt.info.status.is_pending() {
            let mut attempt = attempt.clone();
            attempt.info.status = Status::Failed;
            "Interrupted, and given up for a newer revision"
                .clone_into(&mut attempt.info.description);
            let now = (context.options.now)();
            let written = storage::update(context.cluster, &attempt, now).await;
            warn(written, "an interrupted revision could not be marked");
        }
    }
}

async fn supersede(context: &Context<'_>, plan: &Plan, revision: u32) -> Result<(), Error> {
    let past = &plan.work.observed.past;
    let known = past.deployed().filter(|known| known.revision == revision);
    let record = match known {
        Some(known) => Some(known.clone()),
        None => storage::read(context.cluster, past.id(), revision).await?,
    };
    let Some(mut record) = record else {
        return Ok(());
    };
    record.info.status = Status::Superseded;
    storage::update(context.cluster, &record, (context.options.now)()).await
}

/// The oldest revisions, so that no more than `keep` are left; none if `keep` is 0.
fn surplus(marks: &[Mark], current: u32, keep: usize) -> Vec<u32> {
    let others: Vec<u32> = marks
        .iter()
        .map(|mark| mark.revision)
        .filter(|&revision| revision != current)
        .collect();
    match keep {
        0 => Vec::new(),
        keep => {
            let surplus = (others.len() + 1).saturating_sub(keep);
            others[..surplus.min(others.len())].to_vec()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_revisions_go_first_and_the_current_one_never() {
        let marks: Vec<Mark> = (1..=4)
            .map(|revision| Mark {
                revision,
                status: Status::Superseded,
            })
            .collect();
        assert_eq!(surplus(&marks, 5, 3), [1, 2]);
        assert_eq!(surplus(&marks, 5, 10), [0; 0]);
        assert_eq!(surplus(&marks, 5, 0), [0; 0]);
        assert_eq!(surplus(&marks, 4, 1), [1, 2, 3]);
    }
}
