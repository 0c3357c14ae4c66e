//! The watch cache: the writer appends events, watchers read them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use super::event::Event;
use super::history::{History, HistoryOptions};
use super::watcher::{Expired, Watcher};
use crate::Scope;

/// The event history and the published revision.
#[derive(Debug)]
pub(crate) struct WatchCache {
    history: RwLock<History>,
    /// The history has all events up to this revision.
    revision: AtomicU64,
    closed: AtomicBool,
}

impl WatchCache {
    pub(crate) fn new(options: HistoryOptions, revision: u64) -> Arc<Self> {
        Arc::new(Self {
            history: RwLock::new(History::new(options, revision)),
            revision: AtomicU64::new(revision),
            closed: AtomicBool::new(false),
        })
    }

    /// Appends `events` and wakes the watchers. `apply` makes the events visible to readers; it runs under the write lock
    /// of the history, so that state and history are always consistent.
    pub(crate) fn publish(&self, events: &[Arc<Event>], now: Instant, apply: impl FnOnce()) {
        let mut history = self.write();
        apply();
        let wakes = history.append(events, now);
        if let Some(last) = events.last() {
            self.revision.store(last.revision(), Ordering::Release);
        }
        drop(history);
        for wake in wakes {
            wake.send_replace(());
        }
    }

    pub(crate) fn watch(self: &Arc<Self>, scope: Scope, revision: u64) -> Result<Watcher, Expired> {
        let mut history = self.write();
        let compacted = history.compacted();
        let log = history.log_mut(&scope);
        if !log.reaches_back_to(revision) {
            return Err(Expired {
                revision,
                compacted,
            });
        }
        let wake = log.wake().subscribe();
        drop(history);
        Ok(Watcher::new(Arc::clone(self), scope, revision, wake))
    }

    /// Calls `read` with the events after `revision`, latest first. Nothing is published meanwhile.
    pub(crate) fn with_events_after<T>(
        &self,
        revision: u64,
        read: impl FnOnce(&mut dyn Iterator<Item = &Arc<Event>>) -> T,
    ) -> Result<T, Expired> {
        let history = self.read();
        if !history.all().reaches_back_to(revision) {
            return Err(Expired {
                revision,
                compacted: history.compacted(),
            });
        }
        Ok(read(&mut history.all().after(revision).rev()))
    }

    pub(crate) fn compacted(&self) -> u64 {
        self.read().compacted()
    }

    /// Ends all watchers after the last event.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for log in self.read().logs() {
            log.wake().send_replace(());
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, History> {
        self.history.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, History> {
        self.history.write().unwrap_or_else(PoisonError::into_inner)
    }
}
