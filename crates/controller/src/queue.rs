//! What is to be done next: each plugin by one worker at a time, none forgotten, so many at once.
//!
//! Pure: the time is given. Who is asked for while it is worked on is taken up again afterwards.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Instant;

use crate::key::Key;

/// The waiting and the running.
#[derive(Debug)]
pub(crate) struct Queue {
    limit: usize,
    ready: VecDeque<Key>,
    queued: HashSet<Key>,
    running: HashSet<Key>,
    /// Running, but only waiting: they take no place.
    waiting: HashSet<Key>,
    /// Asked for while running.
    again: HashSet<Key>,
    later: BTreeSet<(Instant, Key)>,
    due: HashMap<Key, Instant>,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            ready: VecDeque::new(),
            queued: HashSet::new(),
            running: HashSet::new(),
            waiting: HashSet::new(),
            again: HashSet::new(),
            later: BTreeSet::new(),
            due: HashMap::new(),
        }
    }

    /// Asks for a plugin now.
    pub(crate) fn add(&mut self, key: Key) {
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Asks for a plugin at a time; an earlier time that was asked for stays.
    pub(crate) fn add_at(&mut self, key: Key, at: Instant) {
        match self.due.get(&key) {
            Some(earlier) if *earlier <= at => {}
            _ => {
                self.forget_time(&key);
                self.due.insert(key.clone(), at);
                self.later.insert((at, key));
            }
        }
    }

    /// When the next of those that were asked for later is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// The next plugin to work on, if there is one and not too many are being worked on.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Key> {
        while self.next_due().is_some_and(|due| due <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.add(key);
            }
        }
        if self.running.len() - self.waiting.len() >= self.limit {
            return None;
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// The work on a plugin is to wait for others; its place is free for them.
    pub(crate) fn wait(&mut self, key: &Key) {
        if self.running.contains(key) {
            self.waiting.insert(key.clone());
        }
    }

    /// The work on a plugin ended.
    pub(crate) fn finish(&mut self, key: &Key) {
        self.running.remove(key);
        self.waiting.remove(key);
        if self.again.remove(key) {
            self.add(key.clone());
        }
    }

    /// Drops all that was asked for in the future of a plugin.
    pub(crate) fn forget_time(&mut self, key: &Key) {
        if let Some(at) = self.due.remove(key) {
            self.later.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new("default", name)
    }

    #[test]
    fn a_plugin_is_worked_on_once_at_a_time_and_again_when_asked_meanwhile() {
        let now = Instant::now();
        let mut queue = Queue::new(4);
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.take(now), Some(key("a")));
        assert_eq!(queue.take(now), None);
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.take(now), None);
        queue.finish(&key("a"));
        assert_eq!(queue.take(now), Some(key("a")));
        queue.finish(&key("a"));
        assert_eq!(queue.take(now), None);
    }

    #[test]
    fn no_more_run_than_allowed() {
        let now = Instant::now();
        let mut queue = Queue::new(2);
        for name in ["a", "b", "c"] {
            queue.add(key(name));
        }
        assert_eq!(queue.take(now), Some(key("a")));
        assert_eq!(queue.take(now), Some(key("b")));
        assert_eq!(queue.take(now), None);
        queue.finish(&key("a"));
        assert_eq!(queue.take(now), Some(key("c")));
    }

    #[test]
    fn who_only_waits_takes_no_place() {
        let now = Instant::now();
        let mut queue = Queue::new(1);
        queue.add(key("parent"));
        queue.add(key("child"));
        assert_eq!(queue.take(now), Some(key("parent")));
        assert_eq!(queue.take(now), None);
        queue.wait(&key("parent"));
        assert_eq!(queue.take(now), Some(key("child")));
    }

    #[test]
    fn the_earliest_time_wins_and_is_met_once() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut queue = Queue::new(2);
        queue.add_at(key("a"), now + 5 * second);
        queue.add_at(key("a"), now + second);
        queue.add_at(key("a"), now + 9 * second);
        assert_eq!(queue.next_due(), Some(now + second));
        assert_eq!(queue.take(now), None);
        assert_eq!(queue.take(now + second), Some(key("a")));
        queue.finish(&key("a"));
        assert_eq!(queue.take(now + 10 * second), None);
        assert_eq!(queue.next_due(), None);
    }
}
