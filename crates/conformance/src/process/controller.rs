//! The plugin controller as a process: `outrigger serve`.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::Child;

use super::command;

/// Lines of the log that an error message includes.
const TAIL: usize = 20;

/// A running controller; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Controller {
    child: Child,
}

impl Controller {
    /// Starts the controller for the cluster of a kubeconfig. Its log is appended to `log`.
    pub(crate) fn start(binary: &Path, kubeconfig: &Path, log: &Path) -> anyhow::Result<Self> {
        let log = fs_err::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)?;
        let child = command(binary)
            .args(["serve", "--install-crds", "--no-leader-election"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdout(Stdio::null())
            .stderr(Stdio::from(log.into_parts().0))
            .spawn()
            .context("failed to start the controller")?;
        Ok(Self { child })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("the controller has exited")
    }

    /// Sends SIGKILL and waits for the process to exit.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// The last lines of the controller's log, for an error message.
    pub(crate) fn log_tail(log: &Path) -> String {
        let log = fs_err::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }
}
