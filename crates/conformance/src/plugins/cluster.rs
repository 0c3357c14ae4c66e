//! A cluster for tests of plugins: an embedded API server with simulated workloads, and a repository with the test chart.

use std::path::{Path, PathBuf};

use kube::Client;
use outrigger_testing::kubernetes;

use super::chart;
use super::plugin_client::PluginClient;
use crate::process::{Controller, EmbeddedServer, Options, log_tail};

pub(super) struct Cluster {
    options: Options,
    server: EmbeddedServer,
    pub(super) client: Client,
    pub(super) plugins: PluginClient,
    /// The log of all controllers of the cluster.
    controller_log: PathBuf,
}

impl Cluster {
    /// Starts the server and a controller, which installs the CRDs.
    pub(super) async fn start(
        binary: &Path,
        directory: &Path,
    ) -> anyhow::Result<(Self, Controller)> {
        let repository = directory.join("charts");
        chart::write(&repository, "1.0.0")?;
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: true,
        };
        let server = EmbeddedServer::start(&options).await?;
        let controller_log = directory.join("serve.log");
        let kubeconfig = &server.endpoint.kubeconfig;
        let controller = Controller::start(binary, kubeconfig, &controller_log)?;
        let client = kubernetes::client(kubeconfig).await?;
        let cluster = Self {
            plugins: PluginClient::new(client.clone(), &repository).await?,
            options,
            server,
            client,
            controller_log,
        };
        Ok((cluster, controller))
    }

    pub(super) fn start_controller(&self) -> anyhow::Result<Controller> {
        let kubeconfig = &self.server.endpoint.kubeconfig;
        Controller::start(&self.options.binary, kubeconfig, &self.controller_log)
    }

    pub(super) fn server_pid(&self) -> anyhow::Result<u32> {
        self.server.pid()
    }

    pub(super) async fn kill_server(&mut self) -> anyhow::Result<()> {
        self.server.kill().await
    }

    /// Starts the server again on the address that it had before it was killed.
    pub(super) async fn restart_server(&mut self) -> anyhow::Result<()> {
        self.server.restart(&self.options).await
    }

    /// The last lines of the controller's log, for an error message.
    pub(super) fn controller_log_tail(&self) -> String {
        log_tail(&self.controller_log)
    }
}
