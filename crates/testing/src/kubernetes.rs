//! A real Kubernetes API server on loopback: etcd, kube-apiserver and optionally kube-controller-manager.
//!
//! Each instance has its own loopback address, certificates and directory. A supervisor process outlives the test: when
//! the test process exits or is killed, the supervisor kills the servers and removes the directory.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::time::Instant;

use crate::loopback::LoopbackBlock;
use crate::peers;
use crate::supervisor::{Program, Supervisor};

mod credentials;

use credentials::Credentials;

const READY_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether to run kube-controller-manager.
    pub controller_manager: bool,
    /// The controllers to run, separated by commas; all by default.
    pub controllers: Option<&'static str>,
    /// Whether etcd syncs each write to disk, as in production. Tests are faster without.
    pub durable: bool,
    /// Admission plugins to disable, separated by commas.
    pub disabled_admission: &'static str,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controller_manager: true,
            controllers: None,
            durable: false,
            disabled_admission: "",
        }
    }
}

/// A running API server. Dropping it stops the servers and removes their data.
pub struct RealKubernetes {
    kubeconfig: PathBuf,
    client: kube::Client,
    supervisor: Supervisor,
    ready_after: Duration,
    // Last, so that it is released after the servers ended.
    _addresses: LoopbackBlock,
}

impl fmt::Debug for RealKubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealKubernetes")
            .field("directory", &self.directory())
            .finish_non_exhaustive()
    }
}

impl RealKubernetes {
    /// Starts the servers and waits until the API is ready.
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("outrigger-kubernetes-")
            .tempdir()?;
        let addresses = LoopbackBlock::reserve()?;
        let address = addresses.address(0);
        let credentials = Credentials::write(directory.path(), address)?;
        let etcd = etcd(options, directory.path(), address)?;
        let api_server = api_server(options, address, &credentials)?;
        let kubeconfig = credentials.kubeconfig.clone();
        let client = client(&kubeconfig).await?;
        let start = Instant::now();
        let mut supervisor = Supervisor::start(directory)?;
        supervisor.run(&etcd)?;
        supervisor.run(&api_server)?;
        let mut kubernetes = Self {
            kubeconfig,
            client,
            supervisor,
            ready_after: Duration::ZERO,
            _addresses: addresses,
        };
        kubernetes.wait_until_ready().await?;
        kubernetes.ready_after = start.elapsed();
        if options.controller_manager {
            // It exits if the API server does not become ready within seconds.
            let manager = controller_manager(options, address, &credentials)?;
            kubernetes.supervisor.run(&manager)?;
        }
        Ok(kubernetes)
    }

    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// A client with its own connections, for use in another runtime.
    pub async fn new_client(&self) -> anyhow::Result<kube::Client> {
        client(&self.kubeconfig).await
    }

    /// The kubeconfig of an administrator; removed on drop.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The directory of logs and data.
    pub fn directory(&self) -> &Path {
        self.supervisor.directory()
    }

    /// The time from the start of the servers until the API was ready.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            let error = match self.probe().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if Instant::now() > deadline {
                bail!(
                    "the API server was not ready in {READY_TIMEOUT:?}: {error}\n{}",
                    self.supervisor.logs()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks `/readyz`, and that the default namespace exists.
    async fn probe(&self) -> anyhow::Result<()> {
        let client = &self.client;
        client.request_text(http_get("/readyz")?).await?;
        client
            .request_text(http_get("/api/v1/namespaces/default")?)
            .await?;
        Ok(())
    }
}

fn http_get(path: &str) -> anyhow::Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(path).body(Vec::new())?)
}

/// A client for the current context of a kubeconfig.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(kube::Client::try_from(config)?)
}

fn etcd(options: Options, directory: &Path, address: Ipv4Addr) -> anyhow::Result<Program> {
    let mut program = Program::new(peers::ETCD)?
        .flag("data-dir", directory.join("etcd").display())
        .flag("listen-client-urls", format!("http://{address}:2379"))
        .flag("advertise-client-urls", format!("http://{address}:2379"))
        .flag("listen-peer-urls", format!("http://{address}:2380"));
    if !options.durable {
        program = program.flag("unsafe-no-fsync", true);
    }
    Ok(program)
}

fn api_server(
    options: Options,
    address: Ipv4Addr,
    credentials: &Credentials,
) -> anyhow::Result<Program> {
    Ok(Program::new(peers::KUBE_APISERVER)?
        .flag("etcd-servers", format!("http://{address}:2379"))
        .flag("bind-address", address)
        .flag("advertise-address", address)
        .flag("secure-port", 6443)
        .flag("endpoint-reconciler-type", "none")
        .flag("service-cluster-ip-range", "10.96.0.0/16")
        .flag("authorization-mode", "RBAC")
        .flag("allow-privileged", true)
        .flag("disable-admission-plugins", options.disabled_admission)
        .flag("token-auth-file", credentials.tokens.display())
        .flag("tls-cert-file", credentials.server_certificate.display())
        .flag("tls-private-key-file", credentials.server_key.display())
        .flag("service-account-issuer", "https://kubernetes.default.svc")
        .flag(
            "service-account-key-file",
            credentials.service_account_key.display(),
        )
        .flag(
            "service-account-signing-key-file",
            credentials.service_account_key.display(),
        ))
}

fn controller_manager(
    options: Options,
    address: Ipv4Addr,
    credentials: &Credentials,
) -> anyhow::Result<Program> {
    Ok(Program::new(peers::KUBE_CONTROLLER_MANAGER)?
        .flag("controllers", options.controllers.unwrap_or("*"))
        .flag("kubeconfig", credentials.kubeconfig.display())
        .flag("bind-address", address)
        .flag("leader-elect", false)
        .flag("use-service-account-credentials", true)
        .flag("root-ca-file", credentials.authority.display())
        .flag("tls-cert-file", credentials.server_certificate.display())
        .flag("tls-private-key-file", credentials.server_key.display())
        .flag(
            "service-account-private-key-file",
            credentials.service_account_key.display(),
        ))
}
