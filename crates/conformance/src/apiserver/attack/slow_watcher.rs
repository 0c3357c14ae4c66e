//! A watcher that never reads its stream: writers must not wait for it, and the server's memory must not grow.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::time::timeout;

use super::config_map;
use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;
use crate::procfs;

const WRITES: usize = 1_500;
/// The size of each write; all writes together exceed every buffer by far.
const SIZE: usize = 50_000;
/// The limit for the growth of the server's memory, in bytes.
const MAX_GROWTH: u64 = 150_000_000;

pub(super) async fn run(target: &Target) -> anyhow::Result<String> {
    let pid = target.server.pid()?;
    let writer = Client::connect(&target.server.endpoint).await?;
    let object = config_map("watched", "");
    let status = writer.post(CONFIG_MAPS, object).await?.status();
    ensure!(status == 201, "create returned {status}");
    let watcher = Client::connect(&target.server.endpoint).await?;
    let path = format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name=watched");
    let stream = watcher.watch(&path).await?;
    let before = procfs::resident_memory(&[pid])?;
    let start = Instant::now();
    let mut peak = before;
    let path = format!("{CONFIG_MAPS}/watched");
    for number in 0..WRITES {
        let text = format!("{number} {}", "x".repeat(SIZE));
        let object = config_map("watched", &text);
        let status = writer.put(&path, object).await?.status();
        ensure!(status == 200, "write {number} returned {status}");
        if number % 100 == 0 {
            peak = peak.max(procfs::resident_memory(&[pid])?);
        }
    }
    let elapsed = start.elapsed();
    let growth = peak.saturating_sub(before);
    ensure!(growth < MAX_GROWTH, "memory grew by {growth} bytes");
    let read = timeout(Duration::from_secs(20), stream.drain()).await;
    let read = read.context("the server did not end the stream")?;
    ensure!(
        read < WRITES * SIZE,
        "the server buffered all {read} bytes for the watcher"
    );
    Ok(format!(
        "{WRITES} writes in {:.1} s, memory grew by {} MB, the stream ended after {} MB",
        elapsed.as_secs_f64(),
        growth / 1_000_000,
        read / 1_000_000
    ))
}
