//! Snapshots for paginated lists: a continue token names the revision of the first page.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::snapshot::Snapshot;

/// How many snapshots are retained, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotRetention {
    /// The maximum number; the least recently used is dropped first.
    pub count: usize,
    /// The maximum time since the last use.
    pub age: Duration,
}

impl Default for SnapshotRetention {
    fn default() -> Self {
        Self {
            count: 32,
            age: Duration::from_mins(5),
        }
    }
}

/// Snapshots by revision, least recently used first.
#[derive(Debug)]
pub(super) struct RetainedSnapshots {
    options: SnapshotRetention,
    snapshots: VecDeque<(Instant, Snapshot)>,
}

impl RetainedSnapshots {
    pub(super) fn new(options: SnapshotRetention) -> Self {
        Self {
            options,
            snapshots: VecDeque::new(),
        }
    }

    pub(super) fn insert(&mut self, snapshot: Snapshot, now: Instant) {
        self.expire(now);
        self.take(snapshot.revision());
        self.snapshots.push_back((now, snapshot));
        if self.snapshots.len() > self.options.count {
            self.snapshots.pop_front();
        }
    }

    /// The snapshot at `revision`, which becomes the most recently used.
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
    fn drops_the_least_recently_used_snapshot() {
        let now = Instant::now();
        let mut retained = RetainedSnapshots::new(SnapshotRetention {
            count: 2,
            age: Duration::from_mins(1),
        });
        retained.insert(snapshot(1), now);
        retained.insert(snapshot(2), now);
        assert!(retained.get(1, now).is_some());
        retained.insert(snapshot(3), now);
        assert!(retained.get(2, now).is_none());
        assert!(retained.get(1, now).is_some());
        assert!(retained.get(3, now).is_some());
    }

    #[test]
    fn drops_snapshots_that_are_not_used_for_too_long() {
        let now = Instant::now();
        let mut retained = RetainedSnapshots::new(SnapshotRetention {
            count: 2,
            age: Duration::from_mins(1),
        });
        retained.insert(snapshot(1), now);
        assert!(retained.get(1, now + Duration::from_mins(1)).is_some());
        assert!(retained.get(1, now + Duration::from_mins(2)).is_some());
        assert!(retained.get(1, now + Duration::from_secs(181)).is_none());
    }
}
