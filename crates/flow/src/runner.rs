//! Runs flows: stores what was planned, then starts and stops attempts.
//!
//! A controller drives it: it calls [`Runner::pass`] when something changed, when an attempt ended, and at the time that
//! the last pass returned. A pass never waits for an attempt.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::plan::current_run;
use crate::state::later;
use crate::{
    Action, ActionKind, Attempt, Desired, EndResult, Ended, Flow, Identity, Outcome, Plan, Record,
    Records, State, Target, Task, plan,
};

/// When an attempt that could not be stopped is stopped again.
const STOP_INTERVAL: Duration = Duration::from_secs(5);

/// Records with the versions that a write must name.
pub type Versioned<V> = BTreeMap<Target, (V, Record)>;

/// Where records are stored.
pub trait Store {
    /// The version of a stored record, such as a resource version.
    type Version: Clone + Send;

    /// Writes each record, unless its version is no longer the stored one. The results are in the order of the writes.
    fn write(
        &self,
        writes: Vec<Write<Self::Version>>,
    ) -> impl Future<Output = Vec<Result<Self::Version, WriteError>>> + Send;
}

/// A record to store.
#[derive(Debug, Clone)]
pub struct Write<V> {
    pub target: Target,
    /// The version that was read; `None` if there is no record yet.
    pub version: Option<V>,
    pub record: Record,
}

/// Why a record was not stored, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("the record was changed by another process")]
    Conflict,
    #[error("failed to write the record: {0}")]
    Failed(String),
}

/// Does the work of attempts.
pub trait Executor {
    /// Begins an attempt, or attaches to it if it was begun before. Returns at once; the outcome is given to
    /// [`Runner::report`] later.
    fn start(&self, attempt: &Attempt);

    /// Stops attempts, or finds out how they ended. Nothing is reported about them afterwards, unless they are started
    /// again. The results are in the order of the attempts.
    fn stop(&self, attempts: &[Attempt]) -> impl Future<Output = Vec<Stopped>> + Send;
}

/// The result of stopping an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// It had ended before.
    Ended(Result<(), String>),
    Canceled,
    /// It may still run.
    Unknown(String),
}

/// A change of a task that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub task: Task,
    pub from: State,
    pub to: State,
}

/// The result of a pass.
#[derive(Debug, Clone)]
pub struct Pass<V> {
    pub outcome: Outcome,
    /// When the next pass is due, if nothing happens before.
    pub wake: Option<Timestamp>,
    /// The records as they are stored now.
    pub records: Versioned<V>,
    /// What was stored, in order.
    pub transitions: Vec<Transition>,
    /// The writes that failed. After a conflict the records must be read again.
    pub errors: Vec<(Target, WriteError)>,
}

/// Runs one flow at a time. Lives as long as the attempts that it started.
#[derive(Debug)]
pub struct Runner {
    identity: Identity,
    /// The attempts that were started and have not ended, by their ids.
    started: BTreeMap<(Target, String), Attempt>,
    /// Attempts that ended, until that is stored.
    ended: Vec<Ended>,
}

impl Runner {
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            started: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    /// Whether attempts are running.
    pub fn is_idle(&self) -> bool {
        self.started.is_empty() && self.ended.is_empty()
    }

    /// The outcome of an attempt that was started. Another pass is due then.
    pub fn report(&mut self, attempt: Attempt, outcome: Result<(), String>) {
        if self.started.remove(&key(&attempt)).is_none() {
            return;
        }
        let result = match outcome {
            Ok(()) => EndResult::Succeeded,
            Err(message) => EndResult::Failed(message),
        };
        self.ended.push(Ended { attempt, result });
    }

    /// Plans, stores and acts, until nothing is left to do now. `records` must be at least as new as the result of the
    /// last pass.
    ///
    /// May be dropped at any time: what was stored is resumed by a later pass.
    pub async fn pass<S: Store, E: Executor>(
        &mut self,
        flow: &Flow,
        desired: &Desired<'_>,
        records: Versioned<S::Version>,
        (store, executor): (&S, &E),
        now: impl Fn() -> Timestamp,
    ) -> Pass<S::Version> {
        let mut pass = Pass {
            outcome: Outcome::InProgress,
            wake: None,
            records,
            transitions: Vec::new(),
            errors: Vec::new(),
        };
        loop {
            let mut stored = plain(&pass.records);
            let restored = self.restore(&mut stored, desired, now());
            let mut planned = plan(flow, desired, &stored, &self.ended, &self.identity, now());
            if !matches!(planned.outcome, Outcome::Held(_)) {
                add_restored(&mut planned, &stored, restored);
            }
            pass.outcome = planned.outcome.clone();
            pass.wake = planned.wake;
            let has_changes = !planned.changed.is_empty();
            write(&planned, store, &mut pass).await;
            self.forget_recorded(&pass.records);
            self.start_lost(&plain(&pass.records), &planned.actions, executor);
            let has_ended = self.act(planned.actions, &mut pass, executor, &now).await;
            if !pass.errors.is_empty() || !(has_changes || has_ended) {
                return pass;
            }
        }
    }

    /// Puts the attempts of this runner back whose start is not recorded any more: somebody else wrote the records. Returns
    /// the targets of which that is to be stored.
    fn restore(
        &self,
        stored: &mut Records,
        desired: &Desired<'_>,
        now: Timestamp,
    ) -> BTreeSet<Target> {
        let ended = self.ended.iter().map(|ended| &ended.attempt);
        let mut restored = BTreeSet::new();
        for attempt in self.started.values().chain(ended) {
            let target = &attempt.task.target;
            let is_desired = match target {
                Target::Cluster => true,
                Target::Machine(name) => desired.machines.contains(name),
            };
            if attempt.run != desired.run || !is_desired {
                continue;
            }
            let known = stored.get(target).map(|it| current_run(it, desired.run));
            let mut record = known.unwrap_or_else(|| Record::new(desired.run));
            if record.restore(attempt, &self.identity.holder, now) {
                stored.insert(target.clone(), record);
                restored.insert(target.clone());
            }
        }
        restored
    }

    /// Starts attempts that are recorded as ours, but whose write was thought to have failed, and those that could not be
    /// stopped and are wanted again.
    fn start_lost(&mut self, records: &Records, actions: &[Action], executor: &impl Executor) {
        let is_stopped = |attempt: &Attempt| {
            let mut actions = actions.iter();
            actions.any(|it| it.kind != ActionKind::Run && it.attempt.is_same(attempt))
        };
        for (target, record) in records {
            for step in record.tasks.keys() {
                let target = target.clone();
                let task = Task { step, target };
                let is_ours = matches!(record.state(step), State::Running { holder, .. } if *holder == self.identity.holder);
                if let Some(attempt) = record.running(&task).filter(|_| is_ours)
                    && !self.is_known(&attempt)
                    && !is_stopped(&attempt)
                {
                    self.start(&attempt, executor);
                }
            }
        }
    }

    fn is_known(&self, attempt: &Attempt) -> bool {
        self.started.contains_key(&key(attempt))
            || self
                .ended
                .iter()
                .any(|ended| key(&ended.attempt) == key(attempt))
    }

    fn start(&mut self, attempt: &Attempt, executor: &impl Executor) {
        self.started.insert(key(attempt), attempt.clone());
        executor.start(attempt);
    }

    /// Drops outcomes that are stored, and those of attempts that are no longer current.
    fn forget_recorded<V>(&mut self, records: &Versioned<V>) {
        self.ended.retain(|ended| {
            let task = &ended.attempt.task;
            let stored = records.get(&task.target);
            let running = stored.and_then(|(_, record)| record.running(task));
            running.is_some_and(|running| key(&running) == key(&ended.attempt))
        });
    }

    /// Executes the actions whose records are stored. Returns whether an attempt ended.
    async fn act<V: Clone>(
        &mut self,
        actions: Vec<Action>,
        pass: &mut Pass<V>,
        executor: &impl Executor,
        now: &impl Fn() -> Timestamp,
    ) -> bool {
        let mut stops = Vec::new();
        for Action { kind, attempt } in actions {
            if !is_recorded(&attempt, &pass.records) {
                continue;
            }
            if kind != ActionKind::Run {
                stops.push((kind, attempt));
            } else if !self.is_known(&attempt) {
                self.start(&attempt, executor);
            }
        }
        if stops.is_empty() {
            return false;
        }
        let attempts: Vec<Attempt> = stops.iter().map(|(_, attempt)| attempt.clone()).collect();
        let stopped = executor.stop(&attempts).await;
        let mut has_ended = false;
        for ((kind, attempt), stopped) in stops.into_iter().zip(stopped) {
            // If it still runs and is wanted again, it is attached to anew.
            self.started.remove(&key(&attempt));
            if let Some(result) = result_of_stop(kind, stopped, &attempt, now()) {
                self.ended.retain(|ended| !ended.attempt.is_same(&attempt));
                self.ended.push(Ended { attempt, result });
                has_ended = true;
            } else {
                let again = later(now(), STOP_INTERVAL);
                pass.wake = Some(pass.wake.map_or(again, |wake| wake.min(again)));
            }
        }
        has_ended
    }
}

/// How an attempt ended that was to be stopped; `None` if it may still run. One that cannot be stopped ends with its
/// deadline: executors end it before they begin another one.
fn result_of_stop(
    kind: ActionKind,
    stopped: Stopped,
    attempt: &Attempt,
    now: Timestamp,
) -> Option<EndResult> {
    match (kind, stopped) {
        (_, Stopped::Ended(Ok(()))) => Some(EndResult::Succeeded),
        (_, Stopped::Ended(Err(message))) => Some(EndResult::Failed(message)),
        (ActionKind::Cancel, Stopped::Canceled) => Some(EndResult::Canceled),
        (_, Stopped::Canceled) => Some(EndResult::Failed("timed out".to_owned())),
        (_, Stopped::Unknown(_)) if attempt.deadline > now => None,
        (ActionKind::Cancel, Stopped::Unknown(_)) => Some(EndResult::Canceled),
        (_, Stopped::Unknown(reason)) => Some(EndResult::Failed(format!("timed out: {reason}"))),
    }
}

fn key(attempt: &Attempt) -> (Target, String) {
    (attempt.task.target.clone(), attempt.id())
}

fn is_recorded<V>(attempt: &Attempt, records: &Versioned<V>) -> bool {
    let stored = records.get(&attempt.task.target);
    let running = stored.and_then(|(_, record)| record.running(&attempt.task));
    running.as_ref() == Some(attempt)
}

fn plain<V>(records: &Versioned<V>) -> Records {
    let records = records.iter();
    records
        .map(|(target, (_, record))| (target.clone(), record.clone()))
        .collect()
}

/// Stores what was put back, where the plan stores nothing else.
fn add_restored(planned: &mut Plan, stored: &Records, restored: BTreeSet<Target>) {
    for target in restored {
        if let Some(record) = stored.get(&target) {
            let changed = planned.changed.entry(target);
            changed.or_insert_with(|| record.clone());
        }
    }
}

async fn write<S: Store>(planned: &Plan, store: &S, pass: &mut Pass<S::Version>) {
    if planned.changed.is_empty() {
        return;
    }
    let version = |target: &Target| {
        let read = pass.records.get(target);
        read.map(|(version, _)| version.clone())
    };
    let writes = planned.changed.iter().map(|(target, record)| Write {
        target: target.clone(),
        version: version(target),
        record: record.clone(),
    });
    let results = store.write(writes.collect()).await;
    for ((target, record), result) in planned.changed.iter().zip(results) {
        match result {
            Ok(version) => {
                let before = pass.records.get(target).map(|(_, record)| record);
                pass.transitions.extend(transitions(target, before, record));
                pass.records
                    .insert(target.clone(), (version, record.clone()));
            }
            Err(error) => pass.errors.push((target.clone(), error)),
        }
    }
}

fn transitions(target: &Target, before: Option<&Record>, after: &Record) -> Vec<Transition> {
    let before = before.filter(|before| before.run == after.run);
    let changed = after.tasks.iter().filter_map(|(step, task)| {
        let from = before.map(|before| before.state(step).clone());
        let from = from.unwrap_or_default();
        (from != task.state).then(|| Transition {
            task: Task {
                step,
                target: target.clone(),
            },
            from,
            to: task.state.clone(),
        })
    });
    changed.collect()
}
