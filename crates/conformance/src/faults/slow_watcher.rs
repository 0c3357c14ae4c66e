//! A watcher that opens its stream and never reads: writers must not wait for it, and memory must not grow.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;

use super::requests::{PATH, config_map};
use crate::bench::memory;
use crate::client::Client;
use crate::embedded::Embedded;

const WRITES: usize = 1_500;
/// Each write is this large, so that all of them together are far more than any buffer.
const SIZE: usize = 50_000;
/// How much memory all this may cost.
const GROWTH: u64 = 150_000_000;

pub(super) async fn run(server: &Embedded) -> anyhow::Result<String> {
    let process = server.id().context("the server is gone")?;
    let writer = Client::connect(&server.endpoint).await?;
    let created = writer.post(PATH, config_map("watched", "")).await?;
    anyhow::ensure!(created.status == 201, "create answers {}", created.status);
    let watcher = Client::connect(&server.endpoint).await?;
    let request = watcher
        .request(
            "GET",
            &format!("{PATH}?watch=1&fieldSelector=metadata.name=watched"),
        )
        .body(Full::default())?;
    let mut stream = watcher.stream(request).await?.into_body();
    let before = memory::resident(&[process])?;
    let begin = Instant::now();
    let mut greatest = before;
    for number in 0..WRITES {
        let text = format!("{number} {}", "x".repeat(SIZE));
        let request = writer
            .request("PUT", &format!("{PATH}/watched"))
            .header("content-type", "application/json")
            .body(Full::new(config_map("watched", &text).into()))?;
        let answer = writer.send(request).await?;
        anyhow::ensure!(
            answer.status == 200,
            "write {number} answers {}",
            answer.status
        );
        if number % 100 == 0 {
            greatest = greatest.max(memory::resident(&[process])?);
        }
    }
    let elapsed = begin.elapsed();
    let grown = greatest.saturating_sub(before);
    anyhow::ensure!(grown < GROWTH, "memory grew by {grown} bytes");
    let mut read = 0;
    let ended = timeout(Duration::from_secs(20), async {
        while let Some(Ok(frame)) = stream.frame().await {
            read += frame.data_ref().map_or(0, bytes::Bytes::len);
        }
    });
    ended.await.with_context(|| {
        format!("the stream was not ended: {read} bytes were read from it afterwards")
    })?;
    anyhow::ensure!(
        read < WRITES * SIZE,
        "all {read} bytes were kept for the watcher"
    );
    Ok(format!(
        "{WRITES} writes in {:.1} s, memory grew by {} MB, the stream was ended after {} MB",
        elapsed.as_secs_f64(),
        grown / 1_000_000,
        read / 1_000_000
    ))
}
