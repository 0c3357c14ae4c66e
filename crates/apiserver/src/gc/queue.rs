//! The objects that are to be looked at: each once at a time, those that failed later.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use outrigger_store::Key;
use tokio::time::Instant;

const FIRST_WAIT: Duration = Duration::from_millis(20);
const SERVED_WITHIN: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What is to be looked at, by key.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<Key>,
    queued: HashSet<Key>,
    /// Being acted on; true if it must be looked at again afterwards.
    busy: HashMap<Key, bool>,
    later: BTreeSet<(Instant, Key)>,
    failures: HashMap<Key, u32>,
    unresolved: BTreeSet<Key>,
}

impl Queue {
    pub(super) fn push(&mut self, key: Key) {
        if let Some(again) = self.busy.get_mut(&key) {
            *again = true;
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        let now = Instant::now();
        while let Some((time, _)) = self.later.first() {
            if *time > now {
                break;
            }
            if let Some((_, key)) = self.later.pop_first() {
                self.push(key);
            }
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    pub(super) fn set_busy(&mut self, key: Key) {
        self.busy.insert(key, false);
    }

    /// Nothing is left to do unless something happened meanwhile.
    pub(super) fn settle(&mut self, key: &Key) {
        self.failures.remove(key);
        self.unresolved.remove(key);
        if self.busy.remove(key) == Some(true) {
            self.push(key.clone());
        }
    }

    /// Looks at it again after a while, which grows.
    pub(super) fn retry(&mut self, key: Key) {
        self.busy.remove(&key);
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = FIRST_WAIT
            .saturating_mul(1 << (*failures).min(16))
            .min(LONGEST_WAIT);
        *failures += 1;
        self.later.insert((Instant::now() + wait, key));
    }

    /// An owner is of a kind that is not known.
    pub(super) fn set_unresolved(&mut self, key: Key) {
        self.failures.remove(&key);
        self.unresolved.insert(key);
    }

    /// A definition of kinds has changed. It is served some instants after it is stored, so there is a second look.
    pub(super) fn push_unresolved(&mut self) {
        let soon = Instant::now() + SERVED_WITHIN;
        for key in std::mem::take(&mut self.unresolved) {
            self.later.insert((soon, key.clone()));
            self.push(key);
        }
    }

    /// Until the next that failed is due; for ever if there is none.
    pub(super) async fn wait(&self) {
        match self.later.first() {
            Some((time, _)) => tokio::time::sleep_until(*time).await,
            None => std::future::pending().await,
        }
    }
}
