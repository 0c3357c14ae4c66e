//! Many watchers, and the memory that remains when they are gone.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;
use crate::procfs;

const CONNECTIONS: usize = 100;
const WATCHERS_PER_CONNECTION: usize = 50;
/// The limit for the memory that remains, in bytes.
const MAX_REMAINING: u64 = 40 << 20;
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn come_and_go(target: &Target) -> anyhow::Result<String> {
    let pid = target.server.pid()?;
    let before = procfs::resident_memory(&[pid])?;
    let mut watchers = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::connect(&target.server.endpoint).await?;
        for _ in 0..WATCHERS_PER_CONNECTION {
            watchers.push(client.watch(&format!("{CONFIG_MAPS}?watch=1")).await?);
        }
    }
    let during = procfs::resident_memory(&[pid])?.saturating_sub(before);
    let count = watchers.len();
    drop(watchers);
    let start = Instant::now();
    let mut after = u64::MAX;
    while after > MAX_REMAINING && start.elapsed() < RELEASE_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(100)).await;
        after = procfs::resident_memory(&[pid])?.saturating_sub(before);
    }
    ensure!(
        after <= MAX_REMAINING,
        "{count} watchers cost {} MiB, of which {} MiB remain",
        during >> 20,
        after >> 20
    );
    Ok(format!(
        "{count} watchers cost {} KiB each; {} MiB remain",
        (during >> 10) / count as u64,
        after >> 20
    ))
}
