//! The load of the benchmark: concurrent requests over a few connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::future::try_join_all;
use serde_json::json;

use crate::apiserver::CONFIG_MAPS;
use crate::bench::median;
use crate::client::{Client, Endpoint};

const CONNECTIONS: usize = 4;

pub(super) struct Load {
    clients: Vec<Client>,
    in_flight: usize,
}

impl Load {
    pub(super) async fn new(endpoint: &Endpoint, in_flight: usize) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(Client::connect(endpoint).await?);
        }
        Ok(Self { clients, in_flight })
    }

    /// Creates `count` objects, numbered from `first`, and returns the rate per second.
    pub(super) async fn create(&self, first: usize, count: usize) -> anyhow::Result<f64> {
        let next = Arc::new(AtomicUsize::new(first));
        let start = Instant::now();
        let workers = self.workers(|client| {
            let next = Arc::clone(&next);
            async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        return Ok(());
                    }
                    create(&client, &format!("bench-{number:05}")).await?;
                }
            }
        });
        try_join_all(workers).await?;
        Ok(rate(count, start.elapsed()))
    }

    /// Gets random objects out of `count` for a period, and returns the rate per second.
    pub(super) async fn get(&self, count: usize, period: Duration) -> anyhow::Result<f64> {
        let done = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let workers = self.workers(|client| {
            let done = Arc::clone(&done);
            async move {
                while start.elapsed() < period {
                    let number = fastrand::usize(..count);
                    let path = format!("{CONFIG_MAPS}/bench-{number:05}");
                    let response = client.get(&path).await?;
                    if response.status() != 200 {
                        bail!("GET returned {}", response.status());
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
        });
        try_join_all(workers).await?;
        Ok(rate(done.load(Ordering::Relaxed), start.elapsed()))
    }

    /// The median time of a LIST of at least `count` objects.
    pub(super) async fn list(&self, count: usize) -> anyhow::Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..7 {
            let start = Instant::now();
            let response = self.clients[0].get(CONFIG_MAPS).await?;
            times.push(start.elapsed());
            let body = String::from_utf8_lossy(response.body());
            let found = body.matches("\"name\":\"bench-").count();
            ensure!(found >= count, "the list has {found} objects, not {count}");
        }
        median(&mut times).context("no LIST was measured")
    }

    /// The times from the create request of an object until a watch delivers its event.
    pub(super) async fn watch(&self, count: usize) -> anyhow::Result<Vec<Duration>> {
        let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=watched");
        let mut events = self.clients[0].watch(&path).await?;
        let mut times = Vec::new();
        for number in 0..count {
            let client = self.clients[1].clone();
            let start = Instant::now();
            let body = config_map(&format!("watched-{number:05}"), &[("watched", "yes")]);
            let create = tokio::spawn(async move { client.post(CONFIG_MAPS, body).await });
            events.line().await.context("the watch ended")?;
            times.push(start.elapsed());
            let status = create.await??.status();
            ensure!(status == 201, "create returned {status}");
        }
        Ok(times)
    }

    fn workers<F>(
        &self,
        work: impl Fn(Client) -> F,
    ) -> Vec<impl Future<Output = anyhow::Result<()>>>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        (0..self.in_flight)
            .map(|index| {
                let worker = tokio::spawn(work(self.clients[index % CONNECTIONS].clone()));
                async move { worker.await? }
            })
            .collect()
    }
}

async fn create(client: &Client, name: &str) -> anyhow::Result<()> {
    let response = client.post(CONFIG_MAPS, config_map(name, &[])).await?;
    if response.status() != 201 {
        bail!(
            "create returned {}: {:?}",
            response.status(),
            response.body()
        );
    }
    Ok(())
}

/// A ConfigMap of typical size.
fn config_map(name: &str, labels: &[(&str, &str)]) -> String {
    let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels, "annotations": {"example.com/note": "measured"}},
        "data": {"key": "value", "text": "a line of text that a configuration could have\n".repeat(4)},
    })
    .to_string()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}
