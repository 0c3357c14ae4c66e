//! The load: many requests at once over a few connections, with a client that costs little.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;

use crate::client::Client;
use crate::endpoint::Endpoint;

const CONNECTIONS: usize = 4;
const NAMESPACE: &str = "/api/v1/namespaces/default/configmaps";

/// Clients that share the work.
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

    /// Creates `count` objects from number `from`; gives how many a second.
    pub(super) async fn creates(&self, from: usize, count: usize) -> anyhow::Result<f64> {
        let next = Arc::new(AtomicUsize::new(from));
        let begin = Instant::now();
        let workers = self.workers(|client| {
            let next = Arc::clone(&next);
            async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= from + count {
                        return Ok(());
                    }
                    create(&client, &format!("bench-{number:05}")).await?;
                }
            }
        });
        try_join_all(workers).await?;
        Ok(rate(count, begin.elapsed()))
    }

    /// Gets objects for a while; gives how many a second.
    pub(super) async fn gets(&self, count: usize, period: Duration) -> anyhow::Result<f64> {
        let done = Arc::new(AtomicUsize::new(0));
        let begin = Instant::now();
        let workers = self.workers(|client| {
            let done = Arc::clone(&done);
            async move {
                while begin.elapsed() < period {
                    let number = fastrand::usize(..count);
                    let path = format!("{NAMESPACE}/bench-{number:05}");
                    let answer = client.get(&path).await?;
                    if answer.status != 200 {
                        bail!("GET answers {}", answer.status);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
        });
        try_join_all(workers).await?;
        Ok(rate(done.load(Ordering::Relaxed), begin.elapsed()))
    }

    /// The median time of reading the whole list.
    pub(super) async fn list(&self, count: usize) -> anyhow::Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..7 {
            let begin = Instant::now();
            let answer = self.clients[0].get(NAMESPACE).await?;
            times.push(begin.elapsed());
            let found = memory_find(&answer.body);
            if found < count {
                bail!("the list has {found} objects, not {count}");
            }
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    /// Times from asking for an object until a watcher sees it.
    pub(super) async fn watch(&self, count: usize) -> anyhow::Result<Vec<Duration>> {
        let path = format!("{NAMESPACE}?watch=1&labelSelector=watched");
        let request = self.clients[0]
            .request("GET", &path)
            .body(Full::default())?;
        let mut events = self.clients[0].stream(request).await?.into_body();
        let mut times = Vec::new();
        for number in 0..count {
            let client = self.clients[1].clone();
            let begin = Instant::now();
            let body = object(&format!("watched-{number:05}"), &[("watched", "yes")]);
            let create = tokio::spawn(async move { client.post(NAMESPACE, body).await });
            loop {
                let frame = events.frame().await.context("the watch ended")??;
                let ended = frame.data_ref().is_some_and(|data| data.ends_with(b"\n"));
                if ended {
                    break;
                }
            }
            times.push(begin.elapsed());
            let status = create.await??.status;
            anyhow::ensure!(status == 201, "create answers {status}");
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
    let answer = client.post(NAMESPACE, object(name, &[])).await?;
    if answer.status != 201 {
        bail!("create answers {}: {:?}", answer.status, answer.body);
    }
    Ok(())
}

/// A small object, as most are.
fn object(name: &str, labels: &[(&str, &str)]) -> String {
    let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels, "annotations": {"example.com/note": "measured"}},
        "data": {"key": "value", "text": "a line of text that a configuration could have\n".repeat(4)},
    })
    .to_string()
}

/// How many objects of the load a list has.
fn memory_find(body: &[u8]) -> usize {
    let text = String::from_utf8_lossy(body);
    text.matches("\"name\":\"bench-").count()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64()
}
