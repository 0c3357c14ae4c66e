//! Snapshots that clients may come back to: a page of a list names the revision of the first page.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::snapshot::Snapshot;

/// How many snapshots are held, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainOptions {
    /// At most so many; the one that was used least recently goes.
    pub count: usize,
    /// Not longer than this after the last use.
    pub age: Duration,
}

impl Default for RetainOptions {
    fn default() -> Self {
        Self {
            count: 32,
            age: Duration::from_mins(5),
        }
    }
}

/// Snapshots by revision, least recently used first.
#[derive(Debug)]
pub(super) struct Retained {
    options: RetainOptions,
    snapshots: VecDeque<(Instant, Snapshot)>,
}

impl Retained {
    pub(super) fn new(options: RetainOptions) -> Self {
        Self {
            options,
            snapshots: VecDeque::new(),
        }
    }

    pub(super) fn keep(&mut self, snapshot: Snapshot, now: Instant) {
        self.expire(now);
        self.take(snapshot.revision());
        self.snapshots.push_back((now, snapshot));
        if self.snapshots.len() > self.options.count {
            self.snapshots.pop_front();
        }
    }

    /// The snapshot at `revision`, which is then the most recently used.
    pub(super) fn get(&mut self, revision: u64, now: Instant) -> Option<Snapshot> {
        self.expire(now);
        let snapshot = self.take(revision)?;
        self.snapshots.push_back((now, snapshot.clone()));
        Some(snapshot)
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let is_old = |(used, _): &(Instant, Snapshot)| {
            now.saturating_duration_since(*used) > self.options.age
        };
        while self.snapshots.front().is_some_and(is_old) {
            self.snapshots.pop_front();
        }
    }

    fn take(&mut self, revision: u64) -> Option<Snapshot> {
        let at = self
            .snapshots
            .iter()
            .position(|(_, snapshot)| snapshot.revision() == revision)?;
        self.snapshots.remove(at).map(|(_, snapshot)| snapshot)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::snapshot::State;
    use super::*;

    fn snapshot(revision: u64) -> Snapshot {
        Snapshot::new(Arc::new(State::new(revision)))
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let now = Instant::now();
        let mut retained = Retained::new(RetainOptions {
            count: 2,
            age: Duration::from_mins(1),
        });
        retained.keep(snapshot(1), now);
        retained.keep(snapshot(2), now);
        assert!(retained.get(1, now).is_some());
        retained.keep(snapshot(3), now);
        assert!(retained.get(2, now).is_none());
        assert!(retained.get(1, now).is_some());
        assert!(retained.get(3, now).is_some());
    }

    #[test]
    fn what_is_not_used_is_dropped_with_time() {
        let now = Instant::now();
        let mut retained = Retained::new(RetainOptions {
            count: 2,
            age: Duration::from_mins(1),
        });
        retained.keep(snapshot(1), now);
        assert!(retained.get(1, now + Duration::from_mins(1)).is_some());
        assert!(retained.get(1, now + Duration::from_mins(2)).is_some());
        assert!(retained.get(1, now + Duration::from_secs(181)).is_none());
    }
}
