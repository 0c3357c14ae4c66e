//! What a machine is waited for, so that a timeout can name its cause.

use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Option<&'static str>>);

impl Progress {
    pub(crate) fn waits_for(&self, what: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }

    /// What is waited for last.
    pub(crate) fn last(&self) -> &'static str {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.unwrap_or("a shell")
    }
}
