//! The time that decides what is old. Passed in, so that tests can set it.

use std::fmt::Debug;
use std::time::Instant;

/// Tells how much time passes. Never the time of day.
pub trait Clock: Debug + Send + Sync {
    /// Does not go back.
    fn now(&self) -> Instant;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
