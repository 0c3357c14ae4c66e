//! The last events, for watches that begin in the past and for lists at an exact revision.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::event::Event;
use crate::{Resource, Scope};

/// How much of the past is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryOptions {
    /// At least so many events are kept.
    pub events: usize,
    /// Events younger than this are kept, however many.
    pub age: Duration,
    /// The bound of both: when versions that only the history holds take more bytes, the oldest go. The events of
    /// the last commit always stay.
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

/// Events in order of revision, and who waits for more.
#[derive(Debug)]
pub(super) struct Log {
    events: VecDeque<Arc<Event>>,
    /// The revision of the last event that is no longer here.
    dropped: u64,
    wake: Arc<watch::Sender<()>>,
}

impl Log {
    fn new(dropped: u64) -> Self {
        Self {
            events: VecDeque::new(),
            dropped,
            wake: Arc::new(watch::Sender::new(())),
        }
    }

    /// Whether all events after `revision` are here.
    pub(super) fn reaches_back_to(&self, revision: u64) -> bool {
        revision >= self.dropped
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
        self.dropped = event.revision();
        Some(event)
    }
}

/// The log of everything, and the same events again for each resource.
#[derive(Debug)]
pub(super) struct History {
    options: HistoryOptions,
    all: Log,
    resources: HashMap<Resource, Log>,
    /// When the events up to a revision were written.
    times: VecDeque<(u64, Instant)>,
    weight: usize,
    /// The revision at which the history began.
    start: u64,
}

impl History {
    pub(super) fn new(options: HistoryOptions, start: u64) -> Self {
        Self {
            options,
            all: Log::new(start),
            resources: HashMap::new(),
            times: VecDeque::new(),
            weight: 0,
            start,
        }
    }

    /// The log in which all events of `scope` are. A resource without events has none until `log_mut` makes it.
    pub(super) fn log(&self, scope: &Scope) -> Option<&Log> {
        match scope.of_resource() {
            Some(resource) => self.resources.get(resource),
            None => Some(&self.all),
        }
    }

    pub(super) fn log_mut(&mut self, scope: &Scope) -> &mut Log {
        match scope.of_resource() {
            Some(resource) => self
                .resources
                .entry(resource.clone())
                .or_insert_with(|| Log::new(self.start)),
            None => &mut self.all,
        }
    }

    pub(super) fn all(&self) -> &Log {
        &self.all
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.resources.values().chain([&self.all])
    }

    /// The revision before which something is missing.
    pub(super) fn compacted(&self) -> u64 {
        self.all.dropped
    }

    /// Appends and returns whom to wake. The events are later than all before.
    pub(super) fn append(
        &mut self,
        events: &[Arc<Event>],
        now: Instant,
    ) -> Vec<Arc<watch::Sender<()>>> {
        let Some(last) = events.last() else {
            return Vec::new();
        };
        let weight: usize = events.iter().map(|event| event.weight()).sum();
        // Before the new ones are here: a watcher that keeps up must be able to see them.
        self.make_room(events.len(), weight, now);
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
        resources: &'a mut HashMap<Resource, Log>,
        event: &Event,
        start: u64,
    ) -> &'a mut Log {
        let prefix = event.key().resource_prefix();
        if !resources.contains_key(prefix) {
            resources.insert(event.key().resource(), Log::new(start));
        }
        resources
            .get_mut(prefix)
            .expect("the log was added if it was absent")
    }

    /// Drops what need not be kept beside `count` more events of `weight` bytes.
    fn make_room(&mut self, count: usize, weight: usize, now: Instant) {
        while self.weight + weight > self.options.bytes || self.has_old_surplus(count, now) {
            let Some(event) = self.all.drop_oldest() else {
                return;
            };
            self.weight -= event.weight();
            if let Some(log) = self.resources.get_mut(event.key().resource_prefix()) {
                log.drop_oldest();
            }
            let gone = |(revision, _): &(u64, Instant)| *revision <= event.revision();
            while self.times.front().is_some_and(gone) {
                self.times.pop_front();
            }
        }
    }

    fn has_old_surplus(&self, count: usize, now: Instant) -> bool {
        let is_old =
            |(_, time): &(u64, Instant)| now.saturating_duration_since(*time) > self.options.age;
        self.all.events.len() + count > self.options.events
            && self.times.front().is_some_and(is_old)
    }
}

#[cfg(test)]
mod tests;
