//! What the writer and all handles share: the objects in memory, the watch hub, retained snapshots.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use super::clock::Clock;
use super::key::Key;
use super::object::Object;
use super::retained::Retained;
use super::snapshot::{Snapshot, State};
use crate::watch::{Event, Expired, Hub};

#[derive(Debug)]
pub(super) struct Shared {
    /// Locked only for as long as it takes to copy a pointer, look one object up or apply one group.
    state: RwLock<Arc<State>>,
    pub(super) hub: Arc<Hub>,
    retained: Mutex<Retained>,
    clock: Arc<dyn Clock>,
}

impl Shared {
    pub(super) fn new(
        state: State,
        hub: Arc<Hub>,
        retained: Retained,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            state: RwLock::new(Arc::new(state)),
            hub,
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

    /// Makes a durable group visible, first to readers, then to watchers: who sees an event can read its object.
    pub(super) fn publish(&self, events: &[Arc<Event>]) {
        if events.is_empty() {
            return;
        }
        let now = self.clock.now();
        self.hub.publish(events, now, || {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let state = Arc::make_mut(&mut state);
            for event in events {
                state.apply(event);
            }
        });
        self.retained().expire(now);
    }

    pub(super) fn retain(&self, snapshot: Snapshot) {
        self.retained().keep(snapshot, self.clock.now());
    }

    /// The snapshot at `revision`: the current one, one that was retained, or one made by undoing the history.
    pub(super) fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Expired> {
        if let Some(snapshot) = self.retained().get(revision, self.clock.now()) {
            return Ok(snapshot);
        }
        self.hub.back_to(revision, |events| {
            let mut state = self.state();
            if revision < state.revision() {
                Arc::make_mut(&mut state).undo(events, revision);
            }
            Snapshot::new(state)
        })
    }

    fn retained(&self) -> std::sync::MutexGuard<'_, Retained> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
