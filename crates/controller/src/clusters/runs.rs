//! The attempts of one cluster: the runner, tasks, and outcomes that were not recorded yet.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use outrigger_cluster::Report;
use outrigger_flow::{Attempt, Identity, Runner, Target};
use outrigger_node::FileCache;

use super::remotes::Remotes;
use super::tree::TreeCache;
use crate::task::AbortOnDrop;

/// An attempt that ended.
pub(crate) struct EndedAttempt {
    pub(crate) attempt: Attempt,
    pub(crate) report: Report,
    pub(crate) result: Result<(), String>,
}

/// Lives as long as the cluster is observed.
pub(crate) struct Runs {
    /// Only one reconcile of the cluster runs at a time.
    pub(crate) runner: tokio::sync::Mutex<Runner>,
    pub(crate) remotes: Remotes,
    pub(crate) tree: TreeCache,
    tasks: Mutex<HashMap<(Target, String), AbortOnDrop>>,
    ended: Mutex<Vec<EndedAttempt>>,
    /// What ended attempts found out, until it is stored.
    reports: Mutex<HashMap<Target, Vec<Report>>>,
    /// The versions of machines whose status is as recorded.
    checked: Mutex<HashMap<String, CheckedVersion>>,
}

/// The version of a machine, the generation of the cluster, and the run of the flow.
pub(crate) type CheckedVersion = (Option<String>, Option<i64>, Option<String>);

impl Runs {
    pub(crate) fn new(identity: Identity, files: FileCache) -> Self {
        Self {
            runner: tokio::sync::Mutex::new(Runner::new(identity)),
            remotes: Remotes::default(),
            tree: TreeCache::new(files),
            tasks: Mutex::default(),
            ended: Mutex::default(),
            reports: Mutex::default(),
            checked: Mutex::default(),
        }
    }

    /// Whether the status of a machine is known to be as recorded.
    pub(crate) fn was_checked(&self, machine: &str, version: &CheckedVersion) -> bool {
        lock(&self.checked).get(machine) == Some(version)
    }

    pub(crate) fn set_checked(&self, machine: &str, version: CheckedVersion) {
        lock(&self.checked).insert(machine.to_owned(), version);
    }

    pub(crate) fn add_task(&self, attempt: &Attempt, task: AbortOnDrop) {
        lock(&self.tasks).insert(key(attempt), task);
    }

    /// Aborts the task of an attempt in this process.
    pub(crate) fn abort_task(&self, attempt: &Attempt) {
        lock(&self.tasks).remove(&key(attempt));
    }

    /// Aborts all tasks. They keep their runs alive, so that dropping is not enough.
    pub(crate) fn abort_tasks(&self) {
        lock(&self.tasks).clear();
    }

    pub(crate) fn end(&self, ended: EndedAttempt) {
        lock(&self.ended).push(ended);
    }

    /// The attempts that ended since the last call. Their reports are kept until they are stored.
    pub(crate) fn take_ended(&self) -> Vec<(Attempt, Result<(), String>)> {
        let ended = std::mem::take(&mut *lock(&self.ended));
        let mut reports = lock(&self.reports);
        let ended = ended.into_iter().map(|ended| {
            lock(&self.tasks).remove(&key(&ended.attempt));
            let target = ended.attempt.task.target.clone();
            reports.entry(target).or_default().push(ended.report);
            (ended.attempt, ended.result)
        });
        ended.collect()
    }

    pub(crate) fn reports(&self, target: &Target) -> Vec<Report> {
        lock(&self.reports).get(target).cloned().unwrap_or_default()
    }

    /// The reports of a target are stored.
    pub(crate) fn forget_reports(&self, target: &Target) {
        lock(&self.reports).remove(target);
    }
}

fn key(attempt: &Attempt) -> (Target, String) {
    (attempt.task.target.clone(), attempt.id())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
