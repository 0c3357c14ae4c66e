//! The states of a task, and the only transitions between them.
//!
//! ```text
//!             ┌────────────────────── Reset ──────────────────────┐
//!             ▼                                                   │
//! Waiting ─Start─► Running ─Succeed─► Done                        │
//!    ▲ │              │ ▲ └─Adopt┘                                │
//!    │ │          Fail│ │Start                                    │
//!    │ │              ▼ │                                         │
//!    │ │          Retrying ───► Failed (after the last attempt) ──┤
//!    │ ├─Skip─► Skipped ──────────────────────────────────────────┤
//!    │ └─Delegate─► Delegated ─Succeed─► Done, ─Fail─► Failed ────┘
//! ```

use jiff::{SignedDuration, Timestamp};

use crate::Step;

/// The state of a task. Waiting is also the state of a task that has no record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Waiting,
    Running {
        /// Starts at one.
        attempt: u32,
        /// The runner whose process executes the attempt.
        holder: String,
        deadline: Timestamp,
    },
    Retrying {
        /// How many attempts have failed.
        failed: u32,
        next_try: Timestamp,
        message: String,
    },
    Done,
    Skipped,
    /// An external operator does the step.
    Delegated {
        owner: String,
        deadline: Timestamp,
    },
    Failed {
        /// How many attempts have failed.
        failed: u32,
        message: String,
        /// The operator that failed, if the step was delegated.
        owner: Option<String>,
    },
}

/// What changes the state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Start {
        holder: String,
    },
    /// Another runner continues the attempt.
    Adopt {
        holder: String,
    },
    Succeed,
    Fail {
        message: String,
    },
    Skip,
    Delegate {
        owner: String,
        deadline: Timestamp,
    },
    /// Forget the result, because the input changed, the user asked for another try, or the flow was canceled.
    Reset,
}

/// A transition that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {state:?} does not accept {event:?}")]
pub struct Refused {
    pub state: State,
    pub event: Event,
}

impl State {
    /// Whether the next steps may begin.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }

    /// How many attempts have failed.
    pub fn failed_attempts(&self) -> u32 {
        match self {
            Self::Running { attempt, .. } => attempt.saturating_sub(1),
            Self::Retrying { failed, .. } | Self::Failed { failed, .. } => *failed,
            Self::Waiting | Self::Done | Self::Skipped | Self::Delegated { .. } => 0,
        }
    }

    /// The state after the event.
    pub fn on(self, event: Event, step: &Step, now: Timestamp) -> Result<Self, Refused> {
        let failed = self.failed_attempts();
        match (self, event) {
            (Self::Waiting | Self::Retrying { .. }, Event::Start { holder }) => Ok(Self::Running {
                attempt: failed.saturating_add(1),
                holder,
                deadline: later(now, step.timeout),
            }),
            (
                Self::Running {
                    attempt, deadline, ..
                },
                Event::Adopt { holder },
            ) => Ok(Self::Running {
                attempt,
                holder,
                deadline,
            }),
            (Self::Running { .. } | Self::Delegated { .. }, Event::Succeed) => Ok(Self::Done),
            (Self::Running { attempt, .. }, Event::Fail { message }) => {
                Ok(after_failure(attempt, message, step, now))
            }
            (Self::Delegated { owner, .. }, Event::Fail { message }) => Ok(Self::Failed {
                failed: 1,
                message,
                owner: Some(owner),
            }),
            (Self::Waiting, Event::Skip) => Ok(Self::Skipped),
            (Self::Waiting, Event::Delegate { owner, deadline }) => {
                Ok(Self::Delegated { owner, deadline })
            }
            (_, Event::Reset) => Ok(Self::Waiting),
            (state, event) => Err(Refused { state, event }),
        }
    }
}

fn after_failure(failed: u32, message: String, step: &Step, now: Timestamp) -> State {
    match step.retry.delay(failed) {
        Some(delay) => State::Retrying {
            failed,
            next_try: later(now, delay),
            message,
        },
        None => State::Failed {
            failed,
            message,
            owner: None,
        },
    }
}

/// The end of time for durations that exceed it.
pub(crate) fn later(now: Timestamp, duration: std::time::Duration) -> Timestamp {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    now.checked_add(duration).unwrap_or(Timestamp::MAX)
}
