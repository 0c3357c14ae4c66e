//! The embedded API server as a process: `outrigger apiserver`.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::{command, log_tail, open_log};
use crate::client::Endpoint;

const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server; dropping it kills it.
#[derive(Debug)]
pub(crate) struct EmbeddedServer {
    child: Child,
    /// Kept open so that the server's writes to stdout do not fail.
    _stdout: BufReader<ChildStdout>,
    pub(crate) endpoint: Endpoint,
}

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) binary: PathBuf,
    /// The data directory. The kubeconfig and the log are written next to it.
    pub(crate) data: PathBuf,
    pub(crate) simulate_workloads: bool,
}

impl Options {
    /// The command that starts a server and writes its kubeconfig.
    pub(crate) fn command(&self, listen: &str, kubeconfig: &Path) -> Command {
        let mut command = command(&self.binary);
        command
            .arg("apiserver")
            .arg("--data")
            .arg(&self.data)
            .args(["--listen", listen, "--kubeconfig"])
            .arg(kubeconfig)
            .stdout(Stdio::piped());
        if self.simulate_workloads {
            command.arg("--simulate-workloads");
        }
        command
    }

    fn kubeconfig(&self) -> PathBuf {
        self.data.with_extension("kubeconfig")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.data.with_extension("log")
    }
}

/// Any free port of the loopback address.
pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

impl EmbeddedServer {
    /// Starts the server and waits until it is ready.
    pub(crate) async fn start(options: &Options) -> anyhow::Result<Self> {
        let command = options.command(ANY_PORT, &options.kubeconfig());
        Self::spawn(command, options).await
    }

    /// Starts the server with a resource limit: `f` is the size of a file in blocks of 512 bytes, `n` the number of open
    /// files.
    pub(crate) async fn start_with_limit(
        options: &Options,
        resource: &str,
        limit: u64,
    ) -> anyhow::Result<Self> {
        let script = format!("ulimit -{resource} {limit}; exec \"$@\"");
        let shell = ["sh", "-c", &script, "sh"].map(str::to_owned);
        Self::start_by(&shell, options).await
    }

    /// Starts the server by a program that gets its command as arguments and executes it.
    pub(crate) async fn start_by(words: &[String], options: &Options) -> anyhow::Result<Self> {
        let [program, arguments @ ..] = words else {
            bail!("no program is given");
        };
        let server = options.command(ANY_PORT, &options.kubeconfig());
        let server = server.as_std();
        let mut command = command(program);
        command
            .args(arguments)
            .arg(server.get_program())
            .args(server.get_args())
            .stdout(Stdio::piped());
        Self::spawn(command, options).await
    }

    /// Starts the server again on the address that it had before it was killed.
    pub(crate) async fn restart(&mut self, options: &Options) -> anyhow::Result<()> {
        let command = options.command(&self.endpoint.authority, &options.kubeconfig());
        *self = Self::spawn(command, options).await?;
        Ok(())
    }

    async fn spawn(mut command: Command, options: &Options) -> anyhow::Result<Self> {
        let mut child = command
            .stderr(open_log(&options.log())?)
            .spawn()
            .context("failed to start the embedded API server")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        // The server prints its first line when it is ready.
        let read = timeout(READY_TIMEOUT, stdout.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            bail!(
                "the embedded API server did not become ready; exit status: {:?}\n{}",
                child.try_wait()?,
                log_tail(&options.log())
            );
        }
        Ok(Self {
            child,
            _stdout: stdout,
            endpoint: Endpoint::read(&options.kubeconfig())?,
        })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child
            .id()
            .context("the embedded API server has exited")
    }

    /// Waits for the process to exit.
    pub(crate) async fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.child.wait().await?)
    }

    /// Sends SIGKILL and waits for the process to exit.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}
