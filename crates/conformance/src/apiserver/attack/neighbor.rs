//! A client that has nothing to do with the attack and measures its own response times.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::config_map;
use crate::apiserver::CONFIG_MAPS;
use crate::client::{Client, Endpoint};

const INTERVAL: Duration = Duration::from_millis(20);
/// Every so many requests, it opens a new connection.
const RECONNECT: usize = 25;
/// With fewer requests, a percentile says nothing.
const MIN_REQUESTS: usize = 20;

pub(super) struct Neighbor {
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<Vec<Duration>>>,
}

impl Neighbor {
    pub(super) async fn start(endpoint: &Endpoint) -> anyhow::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (started, is_started) = oneshot::channel();
        let endpoint = endpoint.clone();
        // On a thread of its own: what the attacker's tasks keep the others busy with is not the server's.
        let task = spawn_blocking(move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let client = Client::connect(&endpoint).await?;
                let created = client.post(CONFIG_MAPS, config_map("neighbor", "")).await?;
                ensure!(created.status() == 201, "{}", created.status());
                // Nobody waits any more if the attack was canceled.
                let _ = started.send(());
                measure(endpoint, client, stopped).await
            })
        });
        // If it failed to start, the task has the error.
        let _ = is_started.await;
        Ok(Self { stop, task })
    }

    /// The 99th percentile of the response times. Fails if a request failed.
    pub(super) async fn stop(self) -> anyhow::Result<Duration> {
        // The task may have ended with an error.
        let _ = self.stop.send(());
        let mut times = self
            .task
            .await?
            .context("a request of another client failed")?;
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let p99 = times.get(last * 99 / 100);
        p99.copied().context("no request of another client")
    }
}

async fn measure(
    endpoint: Endpoint,
    mut client: Client,
    mut stopped: oneshot::Receiver<()>,
) -> anyhow::Result<Vec<Duration>> {
    let path = format!("{CONFIG_MAPS}/neighbor");
    let mut times = Vec::new();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while times.len() < MIN_REQUESTS
        || stopped
            .try_recv()
            .is_err_and(|error| error == oneshot::error::TryRecvError::Empty)
    {
        ticks.tick().await;
        let start = Instant::now();
        if times.len() % RECONNECT == RECONNECT - 1 {
            client = Client::connect(&endpoint).await?;
        }
        let response = if times.len() % 2 == 0 {
            client.get(&path).await?
        } else {
            client
                .put(&path, config_map("neighbor", &times.len().to_string()))
                .await?
        };
        times.push(start.elapsed());
        ensure!(response.status() == 200, "{}", response.status());
    }
    Ok(times)
}
