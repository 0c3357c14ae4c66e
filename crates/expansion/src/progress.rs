//! Counts bytes, for progress bars, and stops work that is canceled.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that are expected, and that are done. Anyone may read them.
#[derive(Debug, Default)]
pub struct Progress {
    expected: AtomicU64,
    done: AtomicU64,
    is_canceled: AtomicBool,
}

impl Progress {
    /// Bytes that are done, and all.
    pub fn bytes(&self) -> (u64, u64) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (get(&self.done), get(&self.expected))
    }

    /// Lets what counts here fail at its next bytes, and clean up.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_canceled.load(Ordering::Relaxed) {
            return Err(io::Error::other("canceled"));
        }
        Ok(())
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}
