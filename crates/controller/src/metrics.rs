//! Counters and gauges of a controller, for Prometheus and for probes. They hold names, phases and numbers only.

mod exposition;
mod requests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use outrigger_api::plugin::Phase;

use crate::key::Key;

/// The upper bounds of the buckets of all histograms, in seconds.
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// A controller loop that has not turned for so long hangs. It turns at least every half a minute.
const STALLED_AFTER: Duration = Duration::from_secs(90);

/// How a reconcile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReconcileResult {
    /// The cluster or the status changed.
    Changed,
    Unchanged,
    Failed,
    /// The cluster or the repository did not respond.
    Unreachable,
    Panicked,
}

#[derive(Debug, Default)]
struct Histogram {
    /// The number of values in each bucket, not cumulative; the last one has no upper bound.
    counts: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
}

impl Histogram {
    fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS.iter().position(|bound| seconds <= *bound);
        self.counts[bucket.unwrap_or(BUCKETS.len())].fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }
}

/// What a controller has done and is doing.
#[derive(Debug, Default)]
pub struct Metrics {
    reconciles: Mutex<HashMap<ReconcileResult, u64>>,
    reconcile_seconds: Histogram,
    queue_depth: AtomicUsize,
    active_reconciles: AtomicUsize,
    phases: Mutex<HashMap<Key, Phase>>,
    fetches: AtomicU64,
    failed_fetches: AtomicU64,
    fetch_seconds: Histogram,
    /// API requests by method and status code; code 0 means that there was no response.
    requests: Mutex<HashMap<(String, u16), u64>>,
    is_leader: AtomicBool,
    has_synced: AtomicBool,
    last_turn: Mutex<Option<Instant>>,
}

impl Metrics {
    /// Whether the controller loop turns. A process that waits for leadership is alive.
    pub fn is_alive(&self) -> bool {
        let last_turn = *lock(&self.last_turn);
        !self.is_leader() || last_turn.is_none_or(|turn| turn.elapsed() < STALLED_AFTER)
    }

    /// Whether the process could take over: it leads and has read all plugins, or it waits for leadership.
    pub fn is_ready(&self) -> bool {
        !self.is_leader() || self.has_synced.load(Ordering::Relaxed)
    }

    pub fn is_leader(&self) -> bool {
        self.is_leader.load(Ordering::Relaxed)
    }

    /// The metrics in the text format of Prometheus.
    pub fn to_prometheus(&self) -> String {
        exposition::text(self)
    }

    /// Forgets what belongs to a term of leadership.
    pub(crate) fn set_leader(&self, is_leader: bool) {
        *lock(&self.last_turn) = None;
        self.has_synced.store(false, Ordering::Relaxed);
        lock(&self.phases).clear();
        self.queue_depth.store(0, Ordering::Relaxed);
        self.active_reconciles.store(0, Ordering::Relaxed);
        self.is_leader.store(is_leader, Ordering::Relaxed);
    }

    /// Records a turn of the controller loop.
    pub(crate) fn record_turn(&self, has_synced: bool, queue_depth: usize, active: usize) {
        *lock(&self.last_turn) = Some(Instant::now());
        self.has_synced.store(has_synced, Ordering::Relaxed);
        self.queue_depth.store(queue_depth, Ordering::Relaxed);
        self.active_reconciles.store(active, Ordering::Relaxed);
    }

    pub(crate) fn record_reconcile(&self, result: ReconcileResult, duration: Duration) {
        *lock(&self.reconciles).entry(result).or_default() += 1;
        self.reconcile_seconds.observe(duration);
    }

    pub(crate) fn set_phase(&self, key: &Key, phase: Phase) {
        lock(&self.phases).insert(key.clone(), phase);
    }

    /// Drops the phase of a plugin that does not exist any more.
    pub(crate) fn forget(&self, key: &Key) {
        lock(&self.phases).remove(key);
    }

    pub(crate) fn record_fetch(&self, is_ok: bool, duration: Duration) {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        if !is_ok {
            self.failed_fetches.fetch_add(1, Ordering::Relaxed);
        }
        self.fetch_seconds.observe(duration);
    }

    fn record_request(&self, method: &str, code: u16) {
        let mut requests = lock(&self.requests);
        *requests.entry((method.to_owned(), code)).or_default() += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
