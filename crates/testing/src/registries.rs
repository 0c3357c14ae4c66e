//! Debian's registry and containerd, each on an address or a socket of its own. They stop with the test process.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::bail;
use tokio::net::{TcpStream, UnixStream};

use crate::TestContext;
use crate::loopback::LoopbackBlock;
use crate::peers;
use crate::supervisor::Supervisor;

const READY_TIMEOUT: Duration = Duration::from_mins(1);

/// Debian's docker-registry without users.
#[derive(Debug)]
pub struct DockerRegistry {
    address: String,
    _supervisor: Supervisor,
    // Last, so that it is released after the server ended.
    _addresses: LoopbackBlock,
}

impl DockerRegistry {
    /// Starts an empty registry, and waits until it listens.
    pub async fn start() -> anyhow::Result<Self> {
        let program = peers::DOCKER_REGISTRY.installed()?;
        let directory = tempfile::Builder::new()
            .prefix("outrigger-registry-")
            .tempdir()?;
        let addresses = LoopbackBlock::reserve()?;
        let address = format!("{}:5000", addresses.address(0));
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\nhttp: {{addr: '{address}'}}\n",
            directory.path().join("data").display()
        );
        fs_err::write(directory.path().join("config.yml"), config)?;
        let mut supervisor = Supervisor::start(directory)?;
        supervisor.start_command(
            "docker-registry",
            &format!("'{}' serve config.yml", program.display()),
        )?;
        wait_until(&supervisor, async || {
            TcpStream::connect(&address).await.is_ok()
        })
        .await?;
        Ok(Self {
            address,
            _supervisor: supervisor,
            _addresses: addresses,
        })
    }

    /// `HOST:PORT`
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// A containerd without containers, and `ctr` as its client. It needs root rights.
#[derive(Debug)]
pub struct Containerd {
    ctr: TestContext,
    supervisor: Supervisor,
}

/// What its sockets are named.
const SOCKET: &str = "containerd.sock";

impl Containerd {
    /// Starts a containerd with empty folders, and waits until it listens.
    pub async fn start() -> anyhow::Result<Self> {
        let ctr = TestContext::new(peers::CTR.installed()?)?;
        let directory = tempfile::Builder::new()
            .prefix("outrigger-containerd-")
            .tempdir()?;
        fs_err::write(
            directory.path().join("config.toml"),
            configuration(directory.path()),
        )?;
        let program = peers::CTR.folder()?.join("usr/bin/containerd");
        let mut supervisor = Supervisor::start(directory)?;
        supervisor.start_command(
            "containerd",
            &format!("'{}' --config config.toml", program.display()),
        )?;
        let socket = supervisor.directory().join(SOCKET);
        wait_until(&supervisor, async || {
            UnixStream::connect(&socket).await.is_ok()
        })
        .await?;
        Ok(Self { ctr, supervisor })
    }

    /// A command of `ctr` for this containerd.
    pub fn ctr(&self, args: &[&str]) -> Command {
        let socket = self.supervisor.directory().join(SOCKET);
        let mut command = self.ctr.command(["--address"]);
        command.arg(socket).args(args);
        command
    }
}

/// Only what pulls and pushes need. Images are unpacked by copying, which works on every file system.
fn configuration(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "version = 2\n\
         root = '{directory}/root'\n\
         state = '{directory}/state'\n\
         disabled_plugins = ['io.containerd.grpc.v1.cri']\n\
         [grpc]\n\
         address = '{directory}/{SOCKET}'\n\
         [ttrpc]\n\
         address = '{directory}/ttrpc.sock'\n"
    )
}

async fn wait_until(
    supervisor: &Supervisor,
    is_ready: impl AsyncFn() -> bool,
) -> anyhow::Result<()> {
    let ready = async {
        while !is_ready().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(READY_TIMEOUT, ready).await.is_err() {
        bail!(
            "the server was not ready in {READY_TIMEOUT:?}\n{}",
            supervisor.logs()
        );
    }
    Ok(())
}
