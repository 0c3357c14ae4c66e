//! The plugin controller as a process: `outrigger serve`.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::process::Child;

use super::{command, open_log, signal};

/// A running controller; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Controller {
    child: Child,
}

impl Controller {
    /// Starts the controller for the cluster of a kubeconfig. Its log is appended to `log`.
    pub(crate) fn start(binary: &Path, kubeconfig: &Path, log: &Path) -> anyhow::Result<Self> {
        Self::start_with(&[], binary, kubeconfig, log)
    }

    /// Starts the controller with further flags.
    pub(crate) fn start_with(
        flags: &[&str],
        binary: &Path,
        kubeconfig: &Path,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let flags = [&["--no-leader-election"][..], flags].concat();
        Self::start_elected(&flags, binary, kubeconfig, log)
    }

    /// Starts a controller that takes part in leader election, with further flags.
    pub(crate) fn start_elected(
        flags: &[&str],
        binary: &Path,
        kubeconfig: &Path,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let child = command(binary)
            .args(["serve", "--install-crds"])
            .args(["--allow-files", "/", "--allow-local-addresses"])
            .args(flags)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            // Not the user's, which may have charts of other runs.
            .env("XDG_CACHE_HOME", log.with_file_name("cache"))
            .stdout(Stdio::null())
            .stderr(open_log(log)?)
            .spawn()
            .context("failed to start the controller")?;
        Ok(Self { child })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("the controller has exited")
    }

    /// Sends SIGTERM and waits for the process to exit. Returns how long that took.
    pub(crate) async fn terminate(mut self) -> anyhow::Result<(ExitStatus, Duration)> {
        let pid = self.pid()?;
        let start = Instant::now();
        signal("TERM", pid).await?;
        let status = self.child.wait().await?;
        Ok((status, start.elapsed()))
    }

    /// Sends SIGKILL and waits for the process to exit.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
