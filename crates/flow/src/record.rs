//! What is stored about a flow, one record for each target.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{Event, Refused, State, Step, Target, Task};

/// The records of all targets of a flow.
pub type Records = BTreeMap<Target, Record>;

/// The tasks of one target in one run of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The run that the tasks belong to. Another run begins without results.
    pub run: String,
    /// The last request for another try that was served.
    pub retry: Option<String>,
    /// The runner of the flow. Only in the record of the cluster.
    pub lease: Option<Lease>,
    pub tasks: BTreeMap<&'static str, TaskRecord>,
}

/// The right to run a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub holder: String,
    /// When another runner may take it.
    pub expires: Timestamp,
}

/// The state of a task, and the input for which it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskRecord {
    pub digest: String,
    pub state: State,
    /// When the state was entered.
    pub since: Timestamp,
    /// How many attempts were started in this run, including those whose results were forgotten.
    pub starts: u32,
}

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    pub task: Task,
    pub run: String,
    /// Counts the attempts since the last success, change of the input or request for another try. Starts at one.
    pub number: u32,
    /// Counts all attempts at the task in this run. Starts at one.
    pub serial: u32,
    /// The digest of the input.
    pub digest: String,
    pub deadline: Timestamp,
}

impl Attempt {
    /// Identifies the work on the target. An executor does the work of an id at most once, also when another process
    /// asks for it again, and ends all other attempts at the task before it begins.
    pub fn id(&self) -> String {
        format!("{}/{}/{}", self.run, self.task.step, self.serial)
    }

    /// Whether both are the same work. What else is recorded about it can differ: others may have edited the record.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.task, &self.run, self.serial) == (&other.task, &other.run, other.serial)
    }
}

/// An outcome of an attempt that is no longer current.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the attempt was superseded")]
pub struct StaleAttempt;

impl Record {
    pub fn new(run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            ..Self::default()
        }
    }

    pub fn state(&self, step: &str) -> &State {
        const WAITING: &State = &State::Waiting;
        self.tasks.get(step).map_or(WAITING, |task| &task.state)
    }

    /// The attempt that is recorded as running.
    pub fn running(&self, task: &Task) -> Option<Attempt> {
        let recorded = self.tasks.get(task.step)?;
        let State::Running {
            attempt, deadline, ..
        } = recorded.state
        else {
            return None;
        };
        Some(Attempt {
            task: task.clone(),
            run: self.run.clone(),
            number: attempt,
            serial: recorded.starts,
            digest: recorded.digest.clone(),
            deadline,
        })
    }

    /// Records the outcome of an attempt, unless it is no longer current.
    pub fn finish(
        &mut self,
        attempt: &Attempt,
        outcome: Result<(), String>,
        step: &Step,
        now: Timestamp,
    ) -> Result<(), StaleAttempt> {
        self.apply_to(attempt, event_of(outcome), step, now)
    }

    /// Records that an attempt was stopped before it had an outcome. One that ended earlier is recorded by
    /// [`Self::finish`].
    pub fn cancel(
        &mut self,
        attempt: &Attempt,
        step: &Step,
        now: Timestamp,
    ) -> Result<(), StaleAttempt> {
        self.apply_to(attempt, Event::Reset, step, now)
    }

    /// Records what an operator reports about a step that is delegated to it.
    pub fn finish_delegated(
        &mut self,
        step: &Step,
        owner: &str,
        outcome: Result<(), String>,
        now: Timestamp,
    ) -> Result<(), StaleAttempt> {
        let Some(task) = self.tasks.get(step.id) else {
            return Err(StaleAttempt);
        };
        if !matches!(&task.state, State::Delegated { owner: current, .. } if current == owner) {
            return Err(StaleAttempt);
        }
        let digest = task.digest.clone();
        self.on(step, &digest, event_of(outcome), now)
            .map_err(|_| StaleAttempt)
    }

    fn apply_to(
        &mut self,
        attempt: &Attempt,
        event: Event,
        step: &Step,
        now: Timestamp,
    ) -> Result<(), StaleAttempt> {
        let running = self.running(&attempt.task);
        if !running.is_some_and(|running| running.is_same(attempt)) {
            return Err(StaleAttempt);
        }
        self.on(step, &attempt.digest, event, now)
            .map_err(|_| StaleAttempt)
    }

    /// Records again that this holder runs an attempt, if the start of it is not recorded any more: somebody else wrote the
    /// record. What is started once stays counted, so that an attempt which ended is never taken for such a one.
    pub(crate) fn restore(&mut self, attempt: &Attempt, holder: &str, now: Timestamp) -> bool {
        let starts = self.tasks.get(attempt.task.step).map_or(0, |it| it.starts);
        let is_waiting = *self.state(attempt.task.step) == State::Waiting;
        if self.run != attempt.run || !is_waiting || starts >= attempt.serial {
            return false;
        }
        let state = State::Running {
            attempt: attempt.number,
            holder: holder.to_owned(),
            deadline: attempt.deadline,
        };
        let task = TaskRecord {
            digest: attempt.digest.clone(),
            state,
            since: now,
            starts: attempt.serial,
        };
        self.tasks.insert(attempt.task.step, task);
        true
    }

    /// Changes the state of a task. The digest is that of the input from now on.
    pub(crate) fn on(
        &mut self,
        step: &Step,
        digest: &str,
        event: Event,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let is_start = matches!(event, Event::Start { .. });
        let state = self.state(step.id).clone().on(event, step, now)?;
        let starts = self.tasks.get(step.id).map_or(0, |task| task.starts);
        let task = TaskRecord {
            digest: digest.to_owned(),
            state,
            since: now,
            starts: starts.saturating_add(is_start.into()),
        };
        self.tasks.insert(step.id, task);
        Ok(())
    }
}

fn event_of(outcome: Result<(), String>) -> Event {
    match outcome {
        Ok(()) => Event::Succeed,
        Err(message) => Event::Fail { message },
    }
}
