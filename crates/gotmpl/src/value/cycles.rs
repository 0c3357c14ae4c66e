//! Frees maps that contain themselves, which reference counts never free.
//!
//! Only `set` and the merge functions can create a cycle, so the maps that they change are remembered.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use super::map::MapData;

/// Remembered maps that were dropped are forgotten when there are twice as many as after the last time.
const MIN_CAPACITY: usize = 1024;

thread_local! {
    static CHANGED: RefCell<Changed> = const { RefCell::new(Changed { maps: Vec::new(), limit: MIN_CAPACITY }) };
}

struct Changed {
    maps: Vec<Weak<MapData>>,
    limit: usize,
}

/// Remembers a map that got a value that may contain the map.
pub(super) fn remember(map: &Rc<MapData>) {
    // At thread exit the list may be gone.
    let _ = CHANGED.try_with(|changed| {
        let mut changed = changed.borrow_mut();
        if changed.maps.len() >= changed.limit {
            changed.maps.retain(|map| map.strong_count() > 0);
            changed.limit = MIN_CAPACITY.max(2 * changed.maps.len());
        }
        changed.maps.push(Rc::downgrade(map));
    });
}

/// Frees all values that only themselves refer to. No value of this thread may be used afterwards: changed maps are
/// emptied.
pub fn free_cycles() {
    let maps = CHANGED.with_borrow_mut(|changed| {
        changed.limit = MIN_CAPACITY;
        std::mem::take(&mut changed.maps)
    });
    for map in maps.iter().filter_map(Weak::upgrade) {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Map, Value, memory};

    #[test]
    fn maps_that_contain_themselves_are_freed() {
        let before = memory::live();
        for _ in 0..3 * MIN_CAPACITY {
            let map = Map::default();
            map.set("self".into(), Value::list(vec![Value::Map(map.clone())]));
        }
        assert!(memory::live() > before);
        free_cycles();
        assert_eq!(memory::live(), before);
    }
}
