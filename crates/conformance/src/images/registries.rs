//! Registries as processes: `outrigger registry serve`, and Debian's docker-registry.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use outrigger_testing::peers::DOCKER_REGISTRY;
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::process::{command, log_tail, open_log};

/// A running registry; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Registry {
    child: Child,
    /// `HOST:PORT`
    pub(crate) address: String,
    pub(crate) data: PathBuf,
}

const START: Duration = Duration::from_secs(20);

impl Registry {
    /// Starts our registry on a folder.
    pub(crate) async fn outrigger(binary: &Path, data: &Path) -> anyhow::Result<Self> {
        let address = free_address()?;
        let log = data.with_extension("log");
        let child = command(binary)
            .args(["registry", "serve", "--listen", &address, "--data"])
            .arg(data)
            .stdout(Stdio::null())
            .stderr(open_log(&log)?)
            .spawn()
            .context("failed to start the registry")?;
        Self::wait(child, address, data, &log).await
    }

    /// Starts our registry on a folder that cannot be written to.
    pub(crate) async fn read_only(binary: &Path, data: &Path, log: &Path) -> anyhow::Result<Self> {
        let address = free_address()?;
        let serve = ["registry", "serve", "--read-only", "--listen", &address];
        let child = command(binary)
            .args(serve)
            .arg("--data")
            .arg(data)
            .stdout(Stdio::null())
            .stderr(open_log(log)?)
            .spawn()
            .context("failed to start the registry")?;
        Self::wait(child, address, data, log).await
    }

    /// Starts Debian's registry on a folder.
    pub(crate) async fn debian(data: &Path) -> anyhow::Result<Self> {
        let address = free_address()?;
        let config = data.with_extension("yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\nhttp: {{addr: '{address}'}}\n",
            data.display()
        );
        fs_err::write(&config, text)?;
        let log = data.with_extension("log");
        let child = command(DOCKER_REGISTRY.installed()?)
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(open_log(&log)?)
            .spawn()
            .context("failed to start docker-registry")?;
        Self::wait(child, address, data, &log).await
    }

    async fn wait(child: Child, address: String, data: &Path, log: &Path) -> anyhow::Result<Self> {
        let connect = async {
            while TcpStream::connect(&address).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(START, connect).await.is_err() {
            bail!(
                "the registry does not listen on {address}:\n{}",
                log_tail(log)
            );
        }
        let data = data.to_owned();
        Ok(Self {
            child,
            address,
            data,
        })
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.child.id().context("the registry has exited")
    }

    /// Sends SIGKILL and waits for the process to exit.
    pub(crate) async fn kill(mut self) -> anyhow::Result<PathBuf> {
        self.child.kill().await?;
        Ok(self.data.clone())
    }
}

/// A loopback address whose port is free.
fn free_address() -> anyhow::Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}
