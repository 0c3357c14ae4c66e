//! The work queue: each object is processed once at a time; failures are retried with backoff.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use outrigger_store::Key;
use tokio::time::Instant;

const MIN_BACKOFF: Duration = Duration::from_millis(20);
const DISCOVERY_DELAY: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: VecDeque<Key>,
    queued: HashSet<Key>,
    /// Objects in progress; true if they must be processed again.
    processing: HashMap<Key, bool>,
    delayed: BTreeSet<(Instant, Key)>,
    failures: HashMap<Key, u32>,
    unresolved: BTreeSet<Key>,
}

impl Queue {
    pub(super) fn push(&mut self, key: Key) {
        if let Some(again) = self.processing.get_mut(&key) {
            *again = true;
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Key> {
        let now = Instant::now();
        while let Some((time, _)) = self.delayed.first() {
            if *time > now {
                break;
            }
            if let Some((_, key)) = self.delayed.pop_first() {
                self.push(key);
            }
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    pub(super) fn start(&mut self, key: Key) {
        self.processing.insert(key, false);
    }

    /// Finishes an object; enqueues it again if it was pushed meanwhile.
    pub(super) fn done(&mut self, key: &Key) {
        self.failures.remove(key);
        self.unresolved.remove(key);
        if self.processing.remove(key) == Some(true) {
            self.push(key.clone());
        }
    }

    /// Enqueues an object again with exponential backoff.
    pub(super) fn retry(&mut self, key: Key) {
        self.processing.remove(&key);
        let failures = self.failures.entry(key.clone()).or_default();
        let wait = MIN_BACKOFF
            .saturating_mul(1 << (*failures).min(16))
            .min(MAX_BACKOFF);
        *failures = failures.saturating_add(1);
        self.delayed.insert((later(wait), key));
    }

    /// Parks an object until the kind of its owner is served.
    pub(super) fn set_unresolved(&mut self, key: Key) {
        self.failures.remove(&key);
        self.unresolved.insert(key);
    }

    /// A definition has changed. It is served shortly after it is stored, so parked objects are enqueued twice.
    pub(super) fn push_unresolved(&mut self) {
        let soon = later(DISCOVERY_DELAY);
        for key in std::mem::take(&mut self.unresolved) {
            self.delayed.insert((soon, key.clone()));
            self.push(key);
        }
    }

    /// Waits until a delayed object is due.
    pub(super) async fn wait(&self) {
        match self.delayed.first() {
            Some((time, _)) => tokio::time::sleep_until(*time).await,
            None => std::future::pending().await,
        }
    }
}

fn later(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now)
}
