//! A cluster for tests of plugins: an embedded API server with simulated workloads or a real one without, and a repository
//! with the test chart.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use kube::Client;
use outrigger_testing::kubernetes::{self, RealKubernetes};

use super::chart;
use super::plugin_client::PluginClient;
use crate::process::{Controller, EmbeddedServer, Options, log_tail};

/// The API server of a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ServerKind {
    /// `outrigger apiserver`
    #[default]
    Embedded,
    /// kube-apiserver with etcd
    Real,
}

enum Server {
    Embedded {
        options: Options,
        server: Box<EmbeddedServer>,
    },
    Real(Box<RealKubernetes>),
}

pub(super) struct Cluster {
    binary: PathBuf,
    server: Server,
    pub(super) client: Client,
    pub(super) plugins: PluginClient,
    /// The directory with the test chart.
    pub(super) repository: PathBuf,
    /// The log of all controllers of the cluster.
    controller_log: PathBuf,
}

impl Server {
    async fn start(binary: &Path, directory: &Path, kind: ServerKind) -> anyhow::Result<Self> {
        if kind == ServerKind::Real {
            let kubernetes = RealKubernetes::start(kubernetes::Options::default()).await?;
            return Ok(Self::Real(Box::new(kubernetes)));
        }
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: true,
        };
        let server = Box::new(EmbeddedServer::start(&options).await?);
        Ok(Self::Embedded { options, server })
    }

    fn kubeconfig(&self) -> &Path {
        match self {
            Self::Embedded { server, .. } => &server.endpoint.kubeconfig,
            Self::Real(kubernetes) => kubernetes.kubeconfig(),
        }
    }
}

impl Cluster {
    /// Starts the embedded server and a controller, which installs the CRDs.
    pub(super) async fn start(
        binary: &Path,
        directory: &Path,
    ) -> anyhow::Result<(Self, Controller)> {
        Self::start_with(binary, directory, ServerKind::Embedded).await
    }

    /// Starts a server and a controller, which installs the CRDs, and waits until the controller reconciles.
    pub(super) async fn start_with(
        binary: &Path,
        directory: &Path,
        kind: ServerKind,
    ) -> anyhow::Result<(Self, Controller)> {
        let repository = directory.join("charts");
        chart::write(&repository, "1.0.0")?;
        let server = Server::start(binary, directory, kind).await?;
        let controller_log = directory.join("serve.log");
        let controller = Controller::start(binary, server.kubeconfig(), &controller_log)?;
        let client = kubernetes::client(server.kubeconfig()).await?;
        let cluster = Self {
            binary: binary.to_owned(),
            plugins: PluginClient::new(client.clone(), &repository).await?,
            server,
            client,
            repository,
            controller_log,
        };
        let reconciling = cluster.plugins.wait_until_reconciling().await;
        reconciling.with_context(|| cluster.controller_log_tail())?;
        Ok((cluster, controller))
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        self.server.kubeconfig()
    }

    pub(super) fn start_controller(&self) -> anyhow::Result<Controller> {
        Controller::start(&self.binary, self.kubeconfig(), &self.controller_log)
    }

    /// Starts a controller that takes part in leader election.
    pub(super) fn start_elected_controller(&self) -> anyhow::Result<Controller> {
        let log = &self.controller_log;
        Controller::start_elected(&[], &self.binary, self.kubeconfig(), log)
    }

    pub(super) fn server_pid(&self) -> anyhow::Result<u32> {
        match &self.server {
            Server::Embedded { server, .. } => server.pid(),
            Server::Real(_) => bail!("only the embedded server can be stopped"),
        }
    }

    pub(super) async fn kill_server(&mut self) -> anyhow::Result<()> {
        match &mut self.server {
            Server::Embedded { server, .. } => server.kill().await,
            Server::Real(_) => bail!("only the embedded server can be killed"),
        }
    }

    /// Starts the server again on the address that it had before it was killed.
    pub(super) async fn restart_server(&mut self) -> anyhow::Result<()> {
        match &mut self.server {
            Server::Embedded { server, options } => server.restart(options).await,
            Server::Real(_) => bail!("only the embedded server can be restarted"),
        }
    }

    /// The last lines of the controller's log, for an error message.
    pub(super) fn controller_log_tail(&self) -> String {
        log_tail(&self.controller_log)
    }
}
