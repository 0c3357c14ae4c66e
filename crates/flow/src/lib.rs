//! The durable step engine: which tasks of a flow are left, and what their outcomes change.
//!
//! A flow is a list of declared steps. A step runs once for the cluster, or once for each machine; a step on its target
//! is a task. The state of every task is recorded before and after it runs, so that a flow resumes after any crash:
//!
//! ```text
//! Flow (steps) ──┐
//! Desired (spec) ┼─ plan (pure) ─→ Plan { actions, wake, outcome }
//! Records ───────┘                       │ Record::apply: a checked transition
//!    ▲                                   ▼
//!    └──────────── compare-and-swap ── Record ── only then: run the attempt ── Record::finish
//! ```
//!
//! The [`Runner`] writes each changed record with a compare-and-swap, and starts an attempt only after its
//! `Running` state is stored. Two runners can race: one of them loses the write. A runner that finds an attempt of
//! another holder adopts it under the same [`Attempt::id`]; executors do the work of an attempt id at most once.
//!
//! This crate neither runs nor stores anything itself: that is done by an [`Executor`] and a [`Store`]. It spawns no
//! tasks, and has no clock: the time is an argument.

mod definition;
mod plan;
mod record;
mod runner;
mod state;
#[cfg(test)]
mod tests;

pub use definition::{Flow, InvalidFlow, Retry, Scope, Step};
pub use plan::{
    Action, ActionKind, Delegate, Desired, EndResult, Ended, Identity, Outcome, Plan, plan,
};
pub use record::{Attempt, Lease, Record, Records, StaleAttempt, TaskRecord};
pub use runner::{
    Executor, Pass, Runner, Stopped, Store, Transition, Versioned, Write, WriteError,
};
pub use state::{Event, Refused, State};

use std::fmt;

/// What a task works on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Cluster,
    Machine(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Machine(name) => write!(f, "machine {name}"),
        }
    }
}

/// A step on one of its targets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    pub step: &'static str,
    pub target: Target,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.step, self.target)
    }
}
