//! Threads for expensive requests.
//!
//! The threads that serve connections run only what takes milliseconds. A request that may take longer runs here, from
//! decoding the body to rendering the response. These threads are few and have a lower priority, so that other clients
//! do not notice it. It ends early if its client leaves or the server closes.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use outrigger_cel::Allowance;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Added to the nice value of the threads.
const NICENESS: i32 = 5;
/// What CEL and patterns may cost on the threads that serve connections: a few milliseconds.
const SHARED_COST: u64 = 50_000;
/// What they may cost on the other threads: more than kube-apiserver allows the rules of an object to cost.
const EXPENSIVE_COST: u64 = 200_000_000;

/// How long a request may still take when the server closes.
const GRACE: Duration = Duration::from_secs(2);

/// Where a request runs.
#[derive(Debug, Clone)]
pub(crate) enum Thread {
    /// On a thread that serves connections.
    Shared,
    /// On a thread for expensive requests, until the flag is set.
    Expensive(Arc<AtomicBool>),
}

impl Thread {
    /// Whether an expensive request has been stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        match self {
            Self::Shared => false,
            Self::Expensive(stop) => stop.load(Ordering::Relaxed),
        }
    }

    /// What CEL and patterns may cost on the thread.
    pub(crate) fn allowance(&self) -> Allowance {
        match self {
            Self::Shared => Allowance {
                cost: SHARED_COST,
                stop: None,
            },
            Self::Expensive(stop) => Allowance {
                cost: EXPENSIVE_COST,
                stop: Some(Arc::clone(stop)),
            },
        }
    }
}

/// The threads, which start when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct ExpensiveThreads(OnceLock<Runtime>);

/// The server closed before the request was done.
#[derive(Debug)]
pub(crate) struct Closed;

impl ExpensiveThreads {
    /// Runs a request. It is stopped when the returned future is dropped. When the server closes, what can be stopped is,
    /// and a write that is under way ends, so that its client gets the true result.
    pub(super) async fn run<F>(
        &self,
        mut closed: watch::Receiver<bool>,
        request: impl FnOnce(Thread) -> F,
    ) -> Result<F::Output, Closed>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let stop = Arc::new(AtomicBool::new(false));
        let runtime = self.0.get_or_init(start);
        let mut task = runtime.spawn(request(Thread::Expensive(Arc::clone(&stop))));
        let _stop_on_drop = StopOnDrop(Arc::clone(&stop), task.abort_handle());
        let done = tokio::select! {
            done = &mut task => Some(done),
            _ = closed.wait_for(|closed| *closed) => None,
        };
        let done = if let Some(done) = done {
            done
        } else {
            stop.store(true, Ordering::Relaxed);
            let ended = tokio::time::timeout(GRACE, task).await;
            ended.map_err(|_| Closed)?
        };
        // A task fails only if it is aborted; the request contains its panics.
        done.map_err(|_| Closed)
    }
}

impl Drop for ExpensiveThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Waiting for the threads is not possible in asynchronous code.
            runtime.shutdown_background();
        }
    }
}

struct StopOnDrop(Arc<AtomicBool>, AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.abort();
    }
}

/// A panic here, if the system has no more threads, fails the request.
fn start() -> Runtime {
    let parallelism = std::thread::available_parallelism().map_or(1, NonZero::get);
    let runtime = Builder::new_multi_thread()
        .worker_threads(parallelism.saturating_mul(2))
        .thread_name("expensive")
        .enable_time()
        .on_thread_start(|| {
            // Without it, the threads compete with the others as equals.
            let _ = rustix::process::nice(NICENESS);
        })
        .build();
    runtime.expect("threads can be started")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_stops_when_its_client_leaves() {
        let threads = ExpensiveThreads::default();
        let (_closing, closed) = watch::channel(false);
        let (started, is_started) = tokio::sync::oneshot::channel();
        let (stopped, is_stopped) = tokio::sync::oneshot::channel();
        let request = threads.run(closed, |thread| async move {
            let Thread::Expensive(stop) = thread else {
                return;
            };
            let _ = started.send(());
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let _ = stopped.send(());
        });
        tokio::select! {
            _ = request => unreachable!("it runs until it is stopped"),
            _ = is_started => {}
        }
        is_stopped.await.unwrap();
    }

    #[tokio::test]
    async fn a_write_that_is_under_way_ends_when_the_server_closes() {
        let threads = ExpensiveThreads::default();
        let (closing, closed) = watch::channel(false);
        let (committed, is_committed) = tokio::sync::oneshot::channel();
        let request = threads.run(closed, |_| is_committed);
        let close = async {
            closing.send_replace(true);
            tokio::task::yield_now().await;
            committed.send("created").unwrap();
        };
        let (response, ()) = tokio::join!(request, close);
        assert_eq!(response.unwrap(), Ok("created"));
    }

    #[tokio::test]
    async fn a_request_ends_when_the_server_closes() {
        let threads = ExpensiveThreads::default();
        let (closing, closed) = watch::channel(false);
        let request = threads.run(closed, |_| std::future::pending::<()>());
        closing.send_replace(true);
        assert!(request.await.is_err());
    }
}
