//! Decides what to do next: a pure function of the flow, the desired input and the records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::{Attempt, Flow, Record, Records, State, Task};

mod lease;
mod planner;

use lease::Holding;
use planner::Planner;

/// What the flow has to achieve, from the specs of the cluster and its machines.
#[derive(Debug)]
pub struct Desired<'a> {
    /// The run of the flow. Results of other runs do not count.
    pub run: &'a str,
    /// The machines, in the order in which steps that run on one after the other visit them.
    pub machines: &'a [String],
    /// How many machines may have their turn at the same time in steps that run in turn. Zero counts as one.
    pub max_in_turn: usize,
    /// Machines that have their turn alone.
    pub alone: &'a BTreeSet<String>,
    /// Tasks that do not exist: steps that do not apply to a machine, or that have nothing to do.
    pub omitted: &'a BTreeSet<Task>,
    /// The digest of the input of each task. A task is done again when it changes.
    pub digests: &'a BTreeMap<Task, String>,
    /// The ids of steps that are not run.
    pub skip: &'a BTreeSet<&'static str>,
    /// The ids of steps that external operators run.
    pub delegate: &'a BTreeMap<&'static str, Delegate>,
    /// A request of the user for another try. Each value is served once.
    pub retry: Option<&'a str>,
    /// Whether all running attempts are to be stopped, and no other is to begin.
    pub is_canceled: bool,
}

/// The operator to which a step is delegated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    pub owner: String,
    pub timeout: Duration,
}

/// The process that runs flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Must be new for each process: what an earlier process started is adopted too.
    pub holder: String,
    /// How long other runners wait for this one after its last sign of life.
    pub lease: Duration,
    /// Whether leases of other runners are taken at once, because only one runner is active at a time.
    pub is_exclusive: bool,
}

/// An attempt that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub attempt: Attempt,
    pub result: EndResult,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndResult {
    Succeeded,
    Failed(String),
    /// It was stopped before it had an outcome.
    Canceled,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The records to store, each with a compare-and-swap. The actions of a target may only be executed after its record
    /// is stored. When something was stored, plan again: other targets may have waited for it.
    pub changed: Records,
    pub actions: Vec<Action>,
    /// When to plan again, even if nothing happens before.
    pub wake: Option<Timestamp>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    pub kind: ActionKind,
    pub attempt: Attempt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    /// Begin the attempt, or continue what another process began.
    Run,
    /// Stop the attempt. It ended as canceled, or with the outcome that it has already.
    Cancel,
    /// Stop the attempt. It ended as failed, or with the outcome that it has already.
    Expire,
}

/// Where the flow stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    InProgress,
    /// Only external operators can go on.
    Delegated(Vec<Task>),
    Done,
    /// Nothing is left that can run, because of these tasks.
    Failed(Vec<Task>),
    Canceled,
    /// Another runner runs the flow.
    Held(String),
}

/// Plans the next actions of a runner, and records the outcomes of `ended`.
pub fn plan(
    flow: &Flow,
    desired: &Desired<'_>,
    records: &Records,
    ended: &[Ended],
    runner: &Identity,
    now: Timestamp,
) -> Plan {
    let holding = Holding::of(records, runner, now);
    if let Holding::Other(lease) = holding {
        return Plan {
            changed: Records::new(),
            actions: Vec::new(),
            wake: Some(lease.expires),
            outcome: Outcome::Held(lease.holder.clone()),
        };
    }
    let mut planner = Planner::new(flow, desired, records, ended, &runner.holder, now);
    planner.cancel_obsolete();
    planner.steps();
    lease::apply(planner.finish(), holding, records, desired.run, runner, now)
}

/// The record, or an empty one if it is of another run of which nothing is left running.
pub(crate) fn current_run(stored: &Record, run: &str) -> Record {
    let is_running = |state: &State| matches!(state, State::Running { .. });
    if stored.run == run || stored.tasks.values().any(|task| is_running(&task.state)) {
        return stored.clone();
    }
    Record {
        lease: stored.lease.clone(),
        ..Record::new(run)
    }
}
