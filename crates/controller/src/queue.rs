//! The work queue: each object is reconciled by one task at a time, and a limited number of objects at once.
//!
//! Objects whose last reconcile failed come after the others, so that they delay no new one, for example after a restart.
//!
//! Pure: the caller passes the time. An object that is added while it is reconciled is reconciled again afterwards.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::Instant;

/// After this many other objects, a failing one gets its turn although others are ready.
const TURNS: u32 = 8;

#[derive(Debug)]
pub(crate) struct Queue<K> {
    max_concurrent: usize,
    ready: VecDeque<K>,
    /// Ready, and failing.
    late: VecDeque<K>,
    /// The objects whose last reconcile failed.
    failing: HashSet<K>,
    /// The objects that were taken from `ready` since one was taken from `late`.
    turns: u32,
    /// The content of `ready` and `late`, to skip duplicates.
    queued: HashSet<K>,
    processing: HashSet<K>,
    /// Processing, but only waiting, which does not count toward the limit.
    waiting: HashSet<K>,
    /// Added while processing.
    dirty: HashSet<K>,
    delayed: BTreeSet<(Instant, K)>,
    delayed_until: HashMap<K, Instant>,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new(max_concurrent: usize) -> Self {
        Self {
            max_concurrent: max_concurrent.max(1),
            ready: VecDeque::new(),
            late: VecDeque::new(),
            failing: HashSet::new(),
            turns: 0,
            queued: HashSet::new(),
            processing: HashSet::new(),
            waiting: HashSet::new(),
            dirty: HashSet::new(),
            delayed: BTreeSet::new(),
            delayed_until: HashMap::new(),
        }
    }

    pub(crate) fn add(&mut self, key: K) {
        if self.processing.contains(&key) {
            self.dirty.insert(key);
        } else if self.queued.insert(key.clone()) {
            if self.failing.contains(&key) {
                self.late.push_back(key);
            } else {
                self.ready.push_back(key);
            }
        }
    }

    /// Records whether the last reconcile of an object failed.
    pub(crate) fn set_failing(&mut self, key: &K, is_failing: bool) {
        if is_failing {
            self.failing.insert(key.clone());
        } else {
            self.failing.remove(key);
        }
    }

    fn pop(&mut self) -> Option<K> {
        let is_late = self.ready.is_empty() || self.turns >= TURNS && !self.late.is_empty();
        if is_late {
            self.turns = 0;
            return self.late.pop_front();
        }
        self.turns += 1;
        self.ready.pop_front()
    }

    /// Adds an object at a time, unless it is already due earlier.
    pub(crate) fn add_at(&mut self, key: K, at: Instant) {
        match self.delayed_until.get(&key) {
            Some(earlier) if *earlier <= at => {}
            _ => {
                self.cancel_delayed(&key);
                self.delayed_until.insert(key.clone(), at);
                self.delayed.insert((at, key));
            }
        }
    }

    /// The number of objects that are ready to be processed.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.late.len()
    }

    /// When the next delayed object is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, _)| *at)
    }

    /// The next object to process; `None` if there is none or the limit is reached.
    pub(crate) fn get(&mut self, now: Instant) -> Option<K> {
        while self.next_due().is_some_and(|due| due <= now) {
            if let Some((_, key)) = self.delayed.pop_first() {
                self.delayed_until.remove(&key);
                self.add(key);
            }
        }
        if self.processing.len() - self.waiting.len() >= self.max_concurrent {
            return None;
        }
        let key = self.pop()?;
        self.queued.remove(&key);
        self.processing.insert(key.clone());
        Some(key)
    }

    /// Frees the slot of an object whose task only waits from now on.
    pub(crate) fn free_slot(&mut self, key: &K) {
        if self.processing.contains(key) {
            self.waiting.insert(key.clone());
        }
    }

    /// Marks an object as processed.
    pub(crate) fn done(&mut self, key: &K) {
        self.processing.remove(key);
        self.waiting.remove(key);
        if self.dirty.remove(key) {
            self.add(key.clone());
        }
    }

    /// Drops the delayed addition of an object.
    pub(crate) fn cancel_delayed(&mut self, key: &K) {
        if let Some(at) = self.delayed_until.remove(key) {
            self.delayed.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::Key;

    fn key(name: &str) -> Key {
        Key::new("default", name)
    }

    #[test]
    fn failing_objects_come_after_others_but_get_their_turn() {
        let mut queue = Queue::new(100);
        queue.set_failing(&key("bad"), true);
        queue.add(key("bad"));
        queue.add(key("new"));
        let now = Instant::now();
        assert_eq!(queue.get(now), Some(key("new")));
        assert_eq!(queue.get(now), Some(key("bad")));
        queue.done(&key("bad"));
        queue.add(key("bad"));
        for number in 0..20 {
            queue.add(key(&number.to_string()));
        }
        let order: Vec<Key> = std::iter::from_fn(|| queue.get(now)).collect();
        let turn = order.iter().position(|taken| *taken == key("bad"));
        assert_eq!(turn, Some(TURNS as usize));
    }

    #[test]
    fn a_plugin_is_processed_once_at_a_time_and_again_if_added_meanwhile() {
        let now = Instant::now();
        let mut queue = Queue::new(4);
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.get(now), Some(key("a")));
        assert_eq!(queue.get(now), None);
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.get(now), None);
        queue.done(&key("a"));
        assert_eq!(queue.get(now), Some(key("a")));
        queue.done(&key("a"));
        assert_eq!(queue.get(now), None);
    }

    #[test]
    fn concurrency_is_limited() {
        let now = Instant::now();
        let mut queue = Queue::new(2);
        for name in ["a", "b", "c"] {
            queue.add(key(name));
        }
        assert_eq!(queue.get(now), Some(key("a")));
        assert_eq!(queue.get(now), Some(key("b")));
        assert_eq!(queue.get(now), None);
        queue.done(&key("a"));
        assert_eq!(queue.get(now), Some(key("c")));
    }

    #[test]
    fn a_waiting_plugin_does_not_count_toward_the_limit() {
        let now = Instant::now();
        let mut queue = Queue::new(1);
        queue.add(key("parent"));
        queue.add(key("child"));
        assert_eq!(queue.get(now), Some(key("parent")));
        assert_eq!(queue.get(now), None);
        queue.free_slot(&key("parent"));
        assert_eq!(queue.get(now), Some(key("child")));
    }

    #[test]
    fn the_earliest_delay_wins_and_fires_once() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut queue = Queue::new(2);
        queue.add_at(key("a"), now + 5 * second);
        queue.add_at(key("a"), now + second);
        queue.add_at(key("a"), now + 9 * second);
        assert_eq!(queue.next_due(), Some(now + second));
        assert_eq!(queue.get(now), None);
        assert_eq!(queue.get(now + second), Some(key("a")));
        queue.done(&key("a"));
        assert_eq!(queue.get(now + 10 * second), None);
        assert_eq!(queue.next_due(), None);
    }
}
