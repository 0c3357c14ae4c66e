//! Catches panics that are expected, without the report of the panic hook.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in [`catch`].
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic on this thread.
pub(super) fn catch<T>(function: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_EXPECTED.get() {
                report(panic);
            }
        }));
    });
    let outer = IS_EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(function));
    IS_EXPECTED.set(outer);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_returned_and_the_next_one_is_reported_again() {
        assert!(catch(|| panic!("expected")).is_err());
        assert!(!IS_EXPECTED.get());
        assert_eq!(catch(|| 1).ok(), Some(1));
    }
}
