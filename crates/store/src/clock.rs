//! The monotonic clock for ages, injected so that tests can set it.

use std::fmt::Debug;
use std::time::Instant;

/// A monotonic clock.
pub trait Clock: Debug + Send + Sync {
    fn now(&self) -> Instant;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }
}
