//! Kills of the client and of the target registry during copies through faulty proxies. A repeated copy completes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::proxy::FaultyProxy;
use super::registries::Registry;
use super::workload::Workload;
use crate::crash::CrashTest;
use crate::process::command;

/// The images of each round.
const WORKLOAD: Workload = Workload {
    images: 6,
    base: 3 << 20,
    own: 2 << 20,
};

pub(crate) struct Test {
    binary: PathBuf,
    folder: PathBuf,
    source: Registry,
    target: Option<Registry>,
    total: u64,
    faults: u64,
    sent_again: u64,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 100;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let source = Registry::outrigger(binary, &directory.join("source")).await?;
        let total = WORKLOAD.push(binary, directory, &source).await?;
        Ok(Self {
            binary: binary.to_owned(),
            folder: directory.to_owned(),
            source,
            target: None,
            total,
            faults: 0,
            sent_again: 0,
        })
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let data = self.folder.join("target");
        let mut target = Registry::outrigger(&self.binary, &data).await?;
        let seed = fastrand::u64(..);
        let source_proxy = FaultyProxy::start(self.source.address.clone(), seed).await?;
        let target_proxy = FaultyProxy::start(target.address.clone(), !seed).await?;
        let (from, to) = (
            source_proxy.address.to_string(),
            target_proxy.address.to_string(),
        );
        let mut client = self
            .sync(&from, &to)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..400))).await;
        client.kill().await?;
        if round.is_multiple_of(2) {
            let data = target.kill().await?;
            target = Registry::outrigger(&self.binary, &data).await?;
        }
        self.faults += source_proxy.faults() + target_proxy.faults();
        self.check(&target).await.context("after the kill")?;
        let stored = stored_layers(&data)?;
        let sent = self.complete(&target.address).await?;
        let missing = self.total.saturating_sub(stored);
        // Configs are sent, too; they are small.
        ensure!(
            sent <= missing + (64 << 10),
            "{sent} bytes were sent, but only {missing} were missing"
        );
        self.sent_again += sent;
        self.check(&target)
            .await
            .context("after the repeated copy")?;
        self.target = Some(target);
        if let Some(target) = self.target.take() {
            let data = target.kill().await?;
            fs_err::remove_dir_all(data)?;
        }
        Ok(())
    }

    async fn finish(self) -> anyhow::Result<String> {
        Ok(format!(
            "{} connections with faults, {} MiB of {} sent by repeated copies of the rest",
            self.faults,
            self.sent_again >> 20,
            self.total >> 20
        ))
    }
}

impl Test {
    fn sync(&self, from: &str, to: &str) -> tokio::process::Command {
        let mut sync = command(&self.binary);
        let images = WORKLOAD
            .names()
            .into_iter()
            .map(|name| format!("{from}/{name}"));
        sync.args([
            "image",
            "sync",
            "--to",
            to,
            "--plain-http",
            from,
            "--plain-http",
            to,
            "-o",
            "json",
        ]);
        sync.args(images);
        sync
    }

    /// Copies what is missing without faults, and returns the bytes that were sent.
    async fn complete(&self, to: &str) -> anyhow::Result<u64> {
        let output = self.sync(&self.source.address, to).output().await?;
        ensure!(
            output.status.success(),
            "the repeated copy failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let summary: Value = serde_json::from_slice(&output.stdout)?;
        summary["bytesSent"]
            .as_u64()
            .context("the summary has no bytesSent")
    }

    /// All content of the target is what its digest says, and nothing is missing that a manifest refers to.
    async fn check(&self, target: &Registry) -> anyhow::Result<()> {
        let check = command(&self.binary)
            .args(["registry", "check", "--data"])
            .arg(&target.data)
            .output()
            .await?;
        ensure!(
            check.status.success(),
            "{}",
            String::from_utf8_lossy(&check.stderr)
        );
        Ok(())
    }
}

/// The bytes of all layers that a registry has.
fn stored_layers(data: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    let blobs = data.join("blobs").join("sha256");
    if !blobs.exists() {
        return Ok(0);
    }
    for prefix in fs_err::read_dir(blobs)? {
        for blob in fs_err::read_dir(prefix?.path())? {
            let size = blob?.metadata()?.len();
            total += if size >= 1 << 20 { size } else { 0 };
        }
    }
    Ok(total)
}
