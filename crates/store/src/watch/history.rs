//! The recent events, for watches and lists at past revisions.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::event::Event;
use crate::{Resource, Scope};

/// The limits of the event history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryOptions {
    /// The minimum number of events to keep.
    pub events: usize,
    /// The minimum age up to which events are kept, regardless of their number.
    pub age: Duration,
    /// The maximum memory of versions that only the history keeps, which overrides both. The events of the last commit
    /// are always kept.
    pub bytes: usize,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self {
            events: 10_000,
            age: Duration::from_mins(5),
            bytes: 32 * 1024 * 1024,
        }
    }
}

/// Events in order of revision, and the channel that wakes watchers.
#[derive(Debug)]
pub(super) struct EventLog {
    events: VecDeque<Arc<Event>>,
    /// The revision of the last event that was dropped.
    compacted: u64,
    wake: Arc<watch::Sender<()>>,
}

impl EventLog {
    fn new(compacted: u64) -> Self {
        Self {
            events: VecDeque::new(),
            compacted,
            wake: Arc::new(watch::Sender::new(())),
        }
    }

    /// Whether the log has all events after `revision`.
    pub(super) fn reaches_back_to(&self, revision: u64) -> bool {
        revision >= self.compacted
    }

    /// The events after `revision`, oldest first.
    pub(super) fn after(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        let from = self
            .events
            .partition_point(|event| event.revision() <= revision);
        self.events.range(from..)
    }

    pub(super) fn wake(&self) -> &Arc<watch::Sender<()>> {
        &self.wake
    }

    fn drop_oldest(&mut self) -> Option<Arc<Event>> {
        let event = self.events.pop_front()?;
        self.compacted = event.revision();
        Some(event)
    }
}

/// The log of all events, and one log for each resource.
#[derive(Debug)]
pub(super) struct History {
    options: HistoryOptions,
    all: EventLog,
    resources: HashMap<Resource, EventLog>,
    /// Revisions of commits with their times.
    times: VecDeque<(u64, Instant)>,
    weight: usize,
    /// The revision at which the history begins.
    start: u64,
}

impl History {
    pub(super) fn new(options: HistoryOptions, start: u64) -> Self {
        Self {
            options,
            all: EventLog::new(start),
            resources: HashMap::new(),
            times: VecDeque::new(),
            weight: 0,
            start,
        }
    }

    /// The log with the events of `scope`. A resource without events has none until `log_mut` creates it.
    pub(super) fn log(&self, scope: &Scope) -> Option<&EventLog> {
        match scope.of_resource() {
            Some(resource) => self.resources.get(resource),
            None => Some(&self.all),
        }
    }

    pub(super) fn log_mut(&mut self, scope: &Scope) -> &mut EventLog {
        match scope.of_resource() {
            Some(resource) => self
                .resources
                .entry(resource.clone())
                .or_insert_with(|| EventLog::new(self.start)),
            None => &mut self.all,
        }
    }

    pub(super) fn all(&self) -> &EventLog {
        &self.all
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = &EventLog> {
        self.resources.values().chain([&self.all])
    }

    pub(super) fn compacted(&self) -> u64 {
        self.all.compacted
    }

    /// Appends events, which must be later than all others, and returns the channels of the watchers to wake.
    pub(super) fn append(
        &mut self,
        events: &[Arc<Event>],
        now: Instant,
    ) -> Vec<Arc<watch::Sender<()>>> {
        let Some(last) = events.last() else {
            return Vec::new();
        };
        let weight: usize = events.iter().map(|event| event.weight()).sum();
        // Before appending, so that a watcher that keeps up sees the new events.
        self.compact(events.len(), weight, now);
        self.weight += weight;
        self.times.push_back((last.revision(), now));
        let mut wakes = vec![Arc::clone(&self.all.wake)];
        for event in events {
            self.all.events.push_back(Arc::clone(event));
            let log = Self::resource_log(&mut self.resources, event, self.start);
            log.events.push_back(Arc::clone(event));
            if !wakes.iter().any(|wake| Arc::ptr_eq(wake, &log.wake)) {
                wakes.push(Arc::clone(&log.wake));
            }
        }
        wakes
    }

    fn resource_log<'a>(
        resources: &'a mut HashMap<Resource, EventLog>,
        event: &Event,
        start: u64,
    ) -> &'a mut EventLog {
        let prefix = event.key().resource_prefix();
        if !resources.contains_key(prefix) {
            resources.insert(event.key().resource(), EventLog::new(start));
        }
        resources
            .get_mut(prefix)
            .expect("the log was added if it was absent")
    }

    /// Drops old events to make room for `count` more of `weight` bytes.
    fn compact(&mut self, count: usize, weight: usize, now: Instant) {
        while self.weight + weight > self.options.bytes || self.has_expired_surplus(count, now) {
            let Some(event) = self.all.drop_oldest() else {
                return;
            };
            self.weight -= event.weight();
            if let Some(log) = self.resources.get_mut(event.key().resource_prefix()) {
                log.drop_oldest();
            }
            let is_dropped = |(revision, _): &(u64, Instant)| *revision <= event.revision();
            while self.times.front().is_some_and(is_dropped) {
                self.times.pop_front();
            }
        }
    }

    fn has_expired_surplus(&self, count: usize, now: Instant) -> bool {
        let is_old =
            |(_, time): &(u64, Instant)| now.saturating_duration_since(*time) > self.options.age;
        self.all.events.len() + count > self.options.events
            && self.times.front().is_some_and(is_old)
    }
}

#[cfg(test)]
mod tests;
