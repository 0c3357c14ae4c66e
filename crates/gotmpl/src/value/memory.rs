//! The heap memory of the values of this thread. Strings, lists, maps and objects are counted when they are created and
//! when they are dropped, so that a render that holds too much can be stopped.
//!
//! The sizes are estimates. Values never change threads.

use std::cell::Cell;

/// Reference counts, the header of the allocator, and the fields of a list or map.
pub(super) const OVERHEAD: usize = 64;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static LIMIT_REACHED: Cell<bool> = const { Cell::new(false) };
}

/// The size of all values of this thread.
#[inline]
pub fn live() -> usize {
    LIVE.get()
}

/// Whether all values of this thread and `more` bytes fit into a limit. If not, [`take_limit_reached`] tells.
#[inline]
pub fn fits(more: usize, limit: usize) -> bool {
    let fits = live().saturating_add(more) <= limit;
    if !fits {
        set_limit_reached();
    }
    fits
}

/// Records that values, output or parse trees exceeded a limit on memory.
#[cold]
pub fn set_limit_reached() {
    LIMIT_REACHED.set(true);
}

/// Whether a limit on memory was reached on this thread since the last call. Some functions return that as a value, so an
/// execution that reached a limit may succeed.
pub fn take_limit_reached() -> bool {
    LIMIT_REACHED.take()
}

#[inline]
pub(super) fn allocated(bytes: usize) {
    LIVE.set(LIVE.get().wrapping_add(bytes));
}

#[inline]
pub(super) fn freed(bytes: usize) {
    LIVE.set(LIVE.get().wrapping_sub(bytes));
}

/// The memory of an object, counted as long as this exists.
#[derive(Debug)]
pub struct Charge(usize);

impl Charge {
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes.saturating_add(OVERHEAD);
        allocated(bytes);
        Self(bytes)
    }
}

impl Clone for Charge {
    fn clone(&self) -> Self {
        allocated(self.0);
        Self(self.0)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        freed(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Map, Str, Value};

    #[test]
    fn what_is_created_and_dropped_leaves_nothing() {
        let before = live();
        let text = Value::str("x".repeat(1000));
        assert!(live() > before + 1000);
        let map = Map::default();
        for number in 0..5000 {
            let key = Str::from(format!("{}", number * 7919 % 5000));
            map.set(key, Value::list(vec![text.clone(), Value::Int(number)]));
        }
        assert!(live() > before + 5000 * 100);
        for number in 0..2500 {
            map.remove(format!("{number}").as_bytes());
        }
        map.with_entries(|entries| assert_eq!(entries.len(), 2500));
        let other = map.retyped(crate::value::MapType::Strings);
        let copy = Value::Map(other.clone()).deep_copy();
        drop((text, map, other, copy));
        assert_eq!(live(), before);
    }

    #[test]
    fn a_limit_that_was_reached_is_reported_once() {
        take_limit_reached();
        assert!(fits(0, usize::MAX) && !take_limit_reached());
        assert!(!fits(1, live()));
        assert!(take_limit_reached());
        assert!(!take_limit_reached());
    }
}
