//! What all evaluations of a function may cost together, in addition to the limits of each.
//!
//! The limits of an evaluation are part of its result. An allowance is not: when it is exhausted, the function has no
//! result, and the caller calls it again with another allowance, or not at all.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outrigger_gostd::regexp::{self, CachedRegexp, Program};

use crate::error::Error;

/// Whether to stop is checked each time that the allowance falls below a multiple of this.
const CHECK_EVERY: u64 = 4096;

/// How many bytes of the program of a regular expression are compiled as fast as one unit of cost is evaluated.
const COMPILED_BYTES_PER_COST: usize = 8;

/// What the evaluations of a function may cost together, and what stops them.
#[derive(Debug, Clone)]
pub struct Allowance {
    pub cost: u64,
    /// Stops the evaluations when it becomes true.
    pub stop: Option<Arc<AtomicBool>>,
}

/// The allowance was exhausted, or the evaluations were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the allowance of the evaluations is exhausted")]
pub struct Exhausted;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static IS_EXHAUSTED: Cell<bool> = const { Cell::new(false) };
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

impl Allowance {
    /// Calls a function whose evaluations, on this thread, have this allowance. The result of a function that exhausts
    /// it is dropped.
    pub fn apply<T>(self, function: impl FnOnce() -> T) -> Result<T, Exhausted> {
        let _restore = Restore {
            left: LEFT.replace(self.cost),
            is_exhausted: IS_EXHAUSTED.replace(false),
            stop: STOP.replace(self.stop),
        };
        let result = function();
        if IS_EXHAUSTED.get() {
            return Err(Exhausted);
        }
        Ok(result)
    }
}

/// The allowance of the caller, which applies again after the function, even if it panics.
struct Restore {
    left: u64,
    is_exhausted: bool,
    stop: Option<Arc<AtomicBool>>,
}

impl Drop for Restore {
    fn drop(&mut self) {
        LEFT.set(self.left);
        IS_EXHAUSTED.set(self.is_exhausted);
        STOP.replace(self.stop.take());
    }
}

/// Takes the cost of other work than an evaluation from the allowance of the thread.
pub fn spend(cost: u64) -> Result<(), Exhausted> {
    take(cost).map_err(|_| Exhausted)
}

/// The program of a regular expression. If it must be compiled, the allowance pays for it.
pub fn regex_program(expression: &CachedRegexp) -> Result<Program, RegexError> {
    let program = expression.program()?;
    let cost = u64::try_from(program.compiled / COMPILED_BYTES_PER_COST);
    spend(cost.unwrap_or(u64::MAX))?;
    Ok(program)
}

/// Why a regular expression has no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    #[error(transparent)]
    Invalid(#[from] regexp::Error),
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// Takes a cost from the allowance of the thread.
pub(crate) fn take(cost: u64) -> Result<(), Error> {
    let before = LEFT.get();
    let left = before.checked_sub(cost);
    LEFT.set(left.unwrap_or(0));
    let is_checked = left.is_some_and(|left| left / CHECK_EVERY != before / CHECK_EVERY);
    if left.is_none() || (is_checked && is_stopped()) {
        IS_EXHAUSTED.set(true);
        return Err(Error::Interrupted);
    }
    Ok(())
}

fn is_stopped() -> bool {
    STOP.with_borrow(|stop| {
        let stop = stop.as_ref();
        stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    })
}
