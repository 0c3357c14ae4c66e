//! The embedded server: the binary `outrigger apiserver`, on a data folder of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::endpoint::Endpoint;

const READY_WITHIN: Duration = Duration::from_secs(20);

/// A running server; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Embedded {
    child: Child,
    /// Kept open, so that the server can always write to it.
    _stdout: BufReader<ChildStdout>,
    pub(crate) endpoint: Endpoint,
}

/// How to start it.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) binary: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) simulate_workloads: bool,
}

impl Embedded {
    /// Starts it and waits until it says that it listens.
    pub(crate) async fn start(options: &Options) -> anyhow::Result<Self> {
        let kubeconfig = kubeconfig(&options.data);
        Self::wait(command(options, &kubeconfig), &kubeconfig).await
    }

    /// The same, but no file of the server may grow beyond so many bytes.
    pub(crate) async fn start_limited(options: &Options, bytes: u64) -> anyhow::Result<Self> {
        let kubeconfig = kubeconfig(&options.data);
        let server = command(options, &kubeconfig);
        let server = server.as_std();
        // With the signal ignored, a write beyond the limit is an error, as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", bytes / 512);
        let mut shell = port("sh");
        shell
            .args(["-c", &script, "sh"])
            .arg(server.get_program())
            .args(server.get_args());
        Self::wait(shell, &kubeconfig).await
    }

    async fn wait(mut command: Command, kubeconfig: &Path) -> anyhow::Result<Self> {
        let mut child = command.spawn().context("failed to start the server")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let read = timeout(READY_WITHIN, stdout.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            bail!(
                "the server did not say that it is ready: {:?}",
                child.try_wait()?
            );
        }
        Ok(Self {
            child,
            _stdout: stdout,
            endpoint: Endpoint::read(kubeconfig)?,
        })
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// The kubeconfig lies beside the data folder.
fn kubeconfig(data: &Path) -> PathBuf {
    data.with_extension("kubeconfig")
}

/// The command that starts it; dropping the process kills it.
pub(crate) fn command(options: &Options, kubeconfig: &Path) -> Command {
    let mut command = port(&options.binary);
    command
        .arg("apiserver")
        .arg("--data")
        .arg(&options.data)
        .args(["--listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(kubeconfig);
    if options.simulate_workloads {
        command.arg("--simulate-workloads");
    }
    command
}

/// The port through which proofs start servers.
fn port(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}
