//! Which renders run at the same time, in the whole process.
//!
//! A render starts in one of a few fast slots. One that is not done soon is paused and waits for one of the slow slots,
//! so that charts that loop delay neither ordinary ones nor each other for long.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::control::RenderControl;
use crate::error::Error;

/// How long a render may use a fast slot. Nearly all renders take less than 100 ms.
const FAST: Duration = Duration::from_secs(1);

/// How long a render may wait for a slow slot, and how long it may use it.
const MAX_DURATION: Duration = Duration::from_mins(1);

/// The number of renders that may wait for a slow slot: they keep their memory.
const MAX_WAITING: usize = 8;

static SLOTS: LazyLock<Slots> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Slots {
        // One render per core, and as many that wait for responses to `lookup`.
        fast: Semaphore::new(2 * cores),
        slow: Semaphore::new((cores / 2).max(1)),
        waiting: Semaphore::new(MAX_WAITING),
    }
});

#[derive(Debug)]
struct Slots {
    fast: Semaphore,
    slow: Semaphore,
    waiting: Semaphore,
}

/// Runs a render that `start` starts, in a slot. The caller cancels the render when it no longer waits.
pub(super) async fn run<T>(
    control: &Arc<RenderControl>,
    start: impl FnOnce() -> JoinHandle<Result<T, Error>>,
) -> Result<T, Error> {
    // The semaphores are never closed.
    let fast = SLOTS.fast.acquire().await;
    let mut render = start();
    if let Ok(done) = timeout(FAST, &mut render).await {
        return done.unwrap_or(Err(Error::RenderAborted));
    }
    control.pause();
    drop(fast);
    let waiting = SLOTS
        .waiting
        .try_acquire()
        .map_err(|_| Error::RendersBusy)?;
    let slow = timeout(MAX_DURATION, SLOTS.slow.acquire()).await;
    let _slow = slow.map_err(|_| Error::RendersBusy)?;
    drop(waiting);
    control.resume();
    let done = timeout(MAX_DURATION, render).await;
    let done = done.map_err(|_| Error::RenderTimeout(MAX_DURATION))?;
    done.unwrap_or(Err(Error::RenderAborted))
}
