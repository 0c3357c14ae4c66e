//! The port through which trials start programs: the controller, the embedded server, Helm.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const READY_WITHIN: Duration = Duration::from_secs(20);

/// A program to start; dropping its process kills it.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// `outrigger apiserver` with simulated workloads.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) child: Child,
    /// Kept open, so that the server can always write to it.
    _stdout: BufReader<tokio::process::ChildStdout>,
    pub(crate) kubeconfig: PathBuf,
}

impl Embedded {
    pub(crate) async fn start(binary: &Path, folder: &Path) -> anyhow::Result<Self> {
        Self::start_at(binary, folder, "127.0.0.1:0").await
    }

    /// Starts it again where it was, after its end.
    pub(crate) async fn restart(&mut self, binary: &Path) -> anyhow::Result<()> {
        let file = Kubeconfig::read_from(&self.kubeconfig)?;
        let cluster = file.clusters.into_iter().find_map(|named| named.cluster);
        let server = cluster.and_then(|cluster| cluster.server);
        let server = server.context("the kubeconfig names no server")?;
        let address = server.trim_start_matches("https://");
        let folder = self.kubeconfig.parent().context("the file has a folder")?;
        *self = Self::start_at(binary, folder, address).await?;
        Ok(())
    }

    async fn start_at(binary: &Path, folder: &Path, address: &str) -> anyhow::Result<Self> {
        let kubeconfig = folder.join("embedded.kubeconfig");
        let mut child = command(binary)
            .args(["apiserver", "--simulate-workloads", "--data"])
            .arg(folder.join("data"))
            .args(["--listen", address, "--kubeconfig"])
            .arg(&kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start the embedded server")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let read = timeout(READY_WITHIN, stdout.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            bail!("the embedded server did not say that it is ready");
        }
        Ok(Self {
            child,
            _stdout: stdout,
            kubeconfig,
        })
    }
}

/// `outrigger serve` on a cluster.
pub(crate) fn serve(binary: &Path, kubeconfig: &Path, log: &Path) -> anyhow::Result<Child> {
    let log = fs_err::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)?;
    command(binary)
        .args([
            "serve",
            "--install-crds",
            "--no-leader-election",
            "--kubeconfig",
        ])
        .arg(kubeconfig)
        .stdout(Stdio::null())
        .stderr(Stdio::from(log.into_parts().0))
        .spawn()
        .context("failed to start the controller")
}

/// A client of the cluster that a kubeconfig names.
pub(crate) async fn client(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(kube::Client::try_from(config)?)
}

/// The last lines of a log.
pub(crate) fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
