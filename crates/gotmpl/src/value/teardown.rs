//! Drops deeply nested values without unlimited recursion: templates can nest a million dicts.

use std::cell::{Cell, RefCell};

use super::Value;

/// The maximum recursion of drops.
const MAX_LEVELS: u32 = 64;

thread_local! {
    static LEVEL: Cell<u32> = const { Cell::new(0) };
    static DEFERRED: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// Drops the members of a list or map. At [`MAX_LEVELS`] they are deferred until the outermost drop.
pub(super) fn drop_children(children: impl Iterator<Item = Value>) {
    let level = LEVEL.get();
    if level >= MAX_LEVELS {
        let containers = children.filter(Value::is_container);
        // At thread exit the list may be gone; then the values are dropped recursively.
        let _ = DEFERRED.try_with(|deferred| deferred.borrow_mut().extend(containers));
        return;
    }
    LEVEL.set(level + 1);
    children.for_each(drop);
    if level == 0 {
        while let Ok(Some(value)) = DEFERRED.try_with(|deferred| deferred.borrow_mut().pop()) {
            drop(value);
        }
    }
    LEVEL.set(level);
}
