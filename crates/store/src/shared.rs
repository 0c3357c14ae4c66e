//! State shared by the writer and all handles: the objects in memory, the watch cache, retained snapshots.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use super::clock::Clock;
use super::key::Key;
use super::object::Object;
use super::retained_snapshots::RetainedSnapshots;
use super::snapshot::{Snapshot, State};
use crate::watch::{Event, Expired, WatchCache};

#[derive(Debug)]
pub(super) struct Shared {
    /// Locked only to clone the pointer, to look up one object or to apply one batch.
    state: RwLock<Arc<State>>,
    pub(super) watch_cache: Arc<WatchCache>,
    retained: Mutex<RetainedSnapshots>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    pub(super) fn new(
        state: State,
        watch_cache: Arc<WatchCache>,
        retained: RetainedSnapshots,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            state: RwLock::new(Arc::new(state)),
            watch_cache,
            retained: Mutex::new(retained),
            clock,
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.get(key).cloned()
    }

    pub(super) fn revision(&self) -> u64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.revision()
    }

    /// Makes a durable batch visible, first to readers, then to watchers, so that a watcher can read what it sees.
    pub(super) fn publish(&self, events: &[Arc<Event>]) {
        if events.is_empty() {
            return;
        }
        let now = self.clock.now();
        self.watch_cache.publish(events, now, || {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let state = Arc::make_mut(&mut state);
            for event in events {
                state.apply(event);
            }
        });
        self.retained().expire(now);
    }

    pub(super) fn retain(&self, snapshot: Snapshot) {
        self.retained().insert(snapshot, self.clock.now());
    }

    /// The snapshot at `revision`: the current one, a retained one, or one rebuilt by undoing the history.
    pub(super) fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Expired> {
        if let Some(snapshot) = self.retained().get(revision, self.clock.now()) {
            return Ok(snapshot);
        }
        self.watch_cache.with_events_after(revision, |events| {
            let mut state = self.state();
            if revision < state.revision() {
                Arc::make_mut(&mut state).undo(events, revision);
            }
            Snapshot::new(state)
        })
    }

    fn retained(&self) -> std::sync::MutexGuard<'_, RetainedSnapshots> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
