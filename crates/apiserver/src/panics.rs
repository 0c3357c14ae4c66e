//! Containment of panics: one request, one object of a controller or one controller fails, and the process goes on.
//!
//! The panic hook reports where it happened; callers report what was being done.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;

const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// A panic that was caught.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {0}")]
pub struct Panic(String);

impl Panic {
    fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "no message".to_owned()))
    }

    /// Panics again, on the thread of the caller. The hook, which has reported the panic, is not called.
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(Box::new(self.0))
    }
}

/// Runs a function that may panic. Nothing that it may have left half done may be used afterwards.
pub fn catch<T>(function: impl FnOnce() -> T) -> Result<T, Panic> {
    let result = std::panic::catch_unwind(AssertUnwindSafe(function));
    result.map_err(|payload| Panic::new(&*payload))
}

/// [`catch`] for a future.
pub async fn catch_async<F: Future>(future: F) -> Result<F::Output, Panic> {
    let result = AssertUnwindSafe(future).catch_unwind().await;
    result.map_err(|payload| Panic::new(&*payload))
}

/// Delays that double from one second to one minute.
#[derive(Debug, Clone, Copy)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(MIN_BACKOFF)
    }
}

impl Backoff {
    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.0;
        self.0 = delay.saturating_mul(2).min(MAX_BACKOFF);
        delay
    }
}

/// Runs a task until it returns or `closed` becomes true, and again after each panic, with backoff.
pub async fn supervise<F>(
    name: impl fmt::Display,
    mut closed: watch::Receiver<bool>,
    mut task: impl FnMut() -> F,
) where
    F: Future<Output = ()>,
{
    let mut backoff = Backoff::default();
    loop {
        tokio::select! {
            result = catch_async(task()) => match result {
                Ok(()) => return,
                Err(panic) => tracing::error!(%name, %panic, "a task panicked and starts again"),
            },
            _ = closed.wait_for(|closed| *closed) => return,
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next_delay()) => {}
            _ = closed.wait_for(|closed| *closed) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn catches_a_panic_with_its_message() {
        assert_eq!(catch(|| 1), Ok(1));
        let panicked = catch(|| panic!("at {}", 2));
        assert_eq!(panicked, Err::<(), _>(Panic("at 2".to_owned())));
    }

    #[tokio::test]
    async fn a_task_starts_again_after_a_panic() {
        let (_closing, closed) = watch::channel(false);
        let runs = Cell::new(0);
        let task = || async {
            runs.set(runs.get() + 1);
            assert!(runs.get() > 1, "the first run panics");
        };
        supervise("test", closed, task).await;
        assert_eq!(runs.get(), 2);
    }
}
