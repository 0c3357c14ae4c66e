//! Runs the controller while this process leads, and stops it.
//!
//! Charts, repositories and objects keep the threads of the controller busy. Leader election and the shutdown can therefore
//! run on another runtime, and nothing there waits for the controller without a limit.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use outrigger_repository::Fetcher;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::context::Context;
use crate::controller::Controller;
use crate::leader_election::LeaderElector;
use crate::sources::{Repositories, Sources};
use crate::{Options, mirror, repository_status, task};

/// Capacity of the channel from the watches to the controller.
const EVENT_CAPACITY: usize = 1024;

/// How long a shutdown waits for the controller, which takes 400 ms to stop its tasks unless its threads are busy.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Where the controller runs, and its client, whose connections are there too.
#[derive(Clone)]
pub struct Workers {
    pub runtime: Handle,
    pub client: Client,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}

/// Runs the controller until `shutdown` completes. The CRDs must be installed.
pub async fn run(client: Client, options: Options, shutdown: impl Future<Output = ()>) {
    let workers = Workers {
        runtime: Handle::current(),
        client: client.clone(),
    };
    run_on(workers, client, options, shutdown).await;
}

/// Runs the controller on `workers`, and leader election on the runtime of the caller, with `client`. Returns within 800 ms
/// after `shutdown` completes, with the lease released, whatever the workers do.
pub async fn run_on(
    workers: Workers,
    client: Client,
    options: Options,
    shutdown: impl Future<Output = ()>,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    let Some(election) = options.leader_election.clone() else {
        let mut controller = RunningController::start(&workers, options);
        tokio::select! {
            () = &mut shutdown => controller.stop_in_time().await,
            () = controller.ended() => {}
        }
        return;
    };
    let mut elector = LeaderElector::new(client, election, options.now);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            () = elector.acquire() => {}
        }
        tracing::info!("acquired leadership");
        let mut controller = RunningController::start(&workers, options.clone());
        tokio::select! {
            () = &mut shutdown => {
                controller.stop_in_time().await;
                elector.release().await;
                return;
            }
            () = elector.renew() => {
                tracing::warn!("lost leadership");
                controller.stop().await;
            }
            () = controller.ended() => {}
        }
    }
}

/// A controller on the workers; aborted on drop.
struct RunningController {
    stop: Option<oneshot::Sender<()>>,
    stopped: oneshot::Receiver<()>,
    task: JoinHandle<()>,
}

impl Drop for RunningController {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RunningController {
    fn start(workers: &Workers, options: Options) -> Self {
        let (stop, stop_requested) = oneshot::channel();
        let (has_stopped, stopped) = oneshot::channel();
        let client = workers.client.clone();
        let task = async move {
            let stop = async {
                // An error is a request too: nobody holds the other end any more.
                let _ = stop_requested.await;
            };
            let controller = Box::pin(run_controller(client, options, stop)).await;
            // What it knows may be large; nobody waits until it is freed.
            let _ = has_stopped.send(());
            drop(controller);
        };
        Self {
            stop: Some(stop),
            stopped,
            task: workers.runtime.spawn(task),
        }
    }

    /// Returns when the controller sends no requests any more.
    async fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails if the controller has ended.
            let _ = stop.send(());
        }
        // As above.
        let _ = (&mut self.stopped).await;
    }

    /// Stops the controller, or leaves it: the process ends.
    async fn stop_in_time(&mut self) {
        if tokio::time::timeout(STOP_TIMEOUT, self.stop())
            .await
            .is_err()
        {
            tracing::warn!("stopped before all tasks ended");
        }
    }

    /// Returns when the controller has ended by itself. Its panic is passed on.
    async fn ended(&mut self) {
        if let Err(error) = (&mut self.task).await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Runs the controller until `stop` completes. Returns it without running tasks.
async fn run_controller(
    client: Client,
    options: Options,
    stop: impl Future<Output = ()>,
) -> Controller {
    let metrics = Arc::clone(&options.metrics);
    metrics.set_leader(true);
    let (sender, receiver) = mpsc::channel(EVENT_CAPACITY);
    let sources = Sources {
        client: client.clone(),
        fetcher: Fetcher::new(options.fetcher.clone()),
        repositories: Repositories::default(),
    };
    let mirror = options.compat.then(|| {
        let mirror = mirror::run(client.clone(), options.now);
        task::spawn(mirror)
    });
    let repository_status = repository_status::run(sources.clone(), options.clone());
    let repository_status = task::spawn(repository_status);
    let ctx = Context::new(client, options, sources, sender);
    let mut controller = Controller::new(ctx, receiver);
    controller.run(stop).await;
    drop((mirror, repository_status));
    metrics.set_leader(false);
    controller
}
