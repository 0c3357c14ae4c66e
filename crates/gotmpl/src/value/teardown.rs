//! Drops deeply nested values without recursion: a template can nest a million dicts, one in the other.

use std::cell::{Cell, RefCell};

use super::Value;

/// Levels that are dropped by plain recursion.
const PLAIN_LEVELS: u32 = 64;

thread_local! {
    static LEVEL: Cell<u32> = const { Cell::new(0) };
    static LATER: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// Drops what a list or map held. Below [`PLAIN_LEVELS`] the values wait until the outermost drop is done.
pub(super) fn drop_children(children: impl Iterator<Item = Value>) {
    let level = LEVEL.get();
    if level >= PLAIN_LEVELS {
        let containers = children.filter(Value::is_container);
        // While the thread ends there is no place to wait, and then plain recursion must do.
        let _ = LATER.try_with(|later| later.borrow_mut().extend(containers));
        return;
    }
    LEVEL.set(level + 1);
    children.for_each(drop);
    if level == 0 {
        while let Ok(Some(value)) = LATER.try_with(|later| later.borrow_mut().pop()) {
            drop(value);
        }
    }
    LEVEL.set(level);
}
