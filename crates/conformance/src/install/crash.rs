//! `crash install`: the installer is killed at random times, until it is done.
//!
//! Whatever the kills, the end is that of a run without them; each hook of the installer ran once; and no blob that was
//! complete was written again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_testing::TestContext;
use tokio::process::{Child, Command};

use super::package::{self, MACHINE};
use super::state::{blobs, end_state};
use crate::crash::CrashTest;

/// How long a run may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The most kills of one installation.
const MAX_KILLS: usize = 6;

const PACKAGES: [&str; 2] = ["folder", "built.tar.zst"];

pub(crate) struct Test {
    context: TestContext,
    /// The end of a run without kills, and how long it takes.
    expected: BTreeMap<String, String>,
    duration: Duration,
    kills: usize,
    compared: usize,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 200;
    const ROUNDS: &str = "installations";

    async fn start(binary: &Path, _: &Path) -> anyhow::Result<Self> {
        let context = TestContext::new(binary)?;
        package::write(&context)?;
        let mut test = Self {
            context,
            expected: BTreeMap::new(),
            duration: Duration::ZERO,
            kills: 0,
            compared: 0,
        };
        let started = Instant::now();
        test.complete("unbroken", PACKAGES[0]).await?;
        test.duration = started.elapsed();
        test.expected = end_state(&test.context.directory().join("unbroken"))?;
        Ok(test)
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let data = format!("data-{round}");
        let package = PACKAGES[round % PACKAGES.len()];
        let folder = self.context.directory().join(&data);
        for _ in 0..fastrand::usize(1..=MAX_KILLS) {
            let before = blobs(&folder)?;
            let mut installer = self.spawn(&data, package)?;
            let limit = u64::try_from(self.duration.as_millis())?.max(1);
            tokio::time::sleep(Duration::from_millis(fastrand::u64(..limit))).await;
            let is_running = installer.try_wait()?.is_none();
            installer.kill().await?;
            until_free().await?;
            self.kills += usize::from(is_running);
            self.check_blobs(&before, &folder)?;
        }
        let before = blobs(&folder)?;
        self.complete(&data, package).await?;
        self.check_blobs(&before, &folder)?;
        let found = end_state(&folder)?;
        for (path, expected) in &self.expected {
            let found = found.get(path);
            ensure!(
                found == Some(expected),
                "{path}: {found:?} instead of {expected:?}"
            );
        }
        let mut unexpected = found
            .keys()
            .filter(|path| !self.expected.contains_key(*path));
        ensure!(
            unexpected.next().is_none(),
            "there is more than expected: {found:?}"
        );
        fs_err::remove_dir_all(&folder)?;
        Ok(())
    }

    async fn finish(self) -> anyhow::Result<String> {
        Ok(format!(
            "in which the installer was killed {} times; each ended as without kills, each hook ran once, and no complete blob was \
             written again ({} times compared)",
            self.kills, self.compared
        ))
    }
}

impl Test {
    fn spawn(&self, data: &str, package: &str) -> anyhow::Result<Child> {
        let log = fs_err::File::options()
            .append(true)
            .create(true)
            .open(self.context.directory().join("install.log"))?;
        let args = [
            "install",
            "--config",
            "cluster.yaml",
            "--expansion",
            package,
            "--allow-unsigned",
            "--data",
            data,
        ];
        let mut command = Command::from(self.context.command(args));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.into_parts().0)
            .kill_on_drop(true);
        Ok(command.spawn()?)
    }

    /// Runs the installer to its end.
    async fn complete(&self, data: &str, package: &str) -> anyhow::Result<()> {
        let mut installer = self.spawn(data, package)?;
        let ended = tokio::time::timeout(TIMEOUT, installer.wait()).await;
        let log = || {
            let log = self.context.directory().join("install.log");
            crate::process::log_tail(&log)
        };
        let status = ended.with_context(|| format!("the installer hangs: {}", log()))??;
        ensure!(status.success(), "{status}: {}", log());
        until_free().await
    }

    fn check_blobs(
        &mut self,
        before: &BTreeMap<std::path::PathBuf, u64>,
        data: &Path,
    ) -> anyhow::Result<()> {
        let after = blobs(data)?;
        for (path, inode) in before {
            let found = after.get(path);
            let path = path.display();
            ensure!(found == Some(inode), "blob {path} was written again");
        }
        self.compared += before.len();
        Ok(())
    }
}

/// Machines of a killed installer end a moment later.
async fn until_free() -> anyhow::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while std::net::TcpListener::bind(MACHINE).is_err() {
        ensure!(Instant::now() < deadline, "the machine does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
