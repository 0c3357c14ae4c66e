//! `crash plugins`: kills the controller again and again while plugins are created, changed, disabled and deleted.
//!
//! Eventually every plugin is Ready, Disabled or gone, and the cluster has exactly the desired objects.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use kube::api::{Patch, PatchParams};
use outrigger_testing::kubernetes;
use serde_json::json;

use super::chart;
use super::desired::{DesiredPlugin, DesiredPlugins, check};
use super::plugin_client::PluginClient;
use crate::crash::CrashTest;
use crate::process::{Controller, EmbeddedServer, Options, log_tail};

const PLUGINS: usize = 30;
/// Kills between two checks.
const CHECK_INTERVAL: usize = 10;
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct Test {
    binary: PathBuf,
    log: PathBuf,
    server: EmbeddedServer,
    client: Client,
    plugins: PluginClient,
    desired: DesiredPlugins,
    changes: usize,
    checks: usize,
    /// Whether the controller was killed since the last check.
    is_unchecked: bool,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 100;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let repository = directory.join("charts");
        chart::write(&repository, "1.0.0")?;
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: true,
        };
        let server = EmbeddedServer::start(&options).await?;
        let log = directory.join("serve.log");
        let client = kubernetes::client(&server.endpoint.kubeconfig).await?;
        let controller = Controller::start(binary, &server.endpoint.kubeconfig, &log)?;
        let plugins = PluginClient::new(client.clone(), &repository).await?;
        controller.kill().await?;
        Ok(Self {
            binary: binary.to_owned(),
            log,
            server,
            client,
            plugins,
            desired: DesiredPlugins::new(),
            changes: 0,
            checks: 0,
            is_unchecked: false,
        })
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        self.change_plugins().await?;
        let controller = self.start_controller()?;
        tokio::time::sleep(Duration::from_millis(fastrand::u64(10..900))).await;
        controller.kill().await?;
        self.is_unchecked = true;
        if round.is_multiple_of(CHECK_INTERVAL) {
            self.check().await?;
        }
        Ok(())
    }

    async fn finish(mut self) -> anyhow::Result<String> {
        if self.is_unchecked {
            self.check().await?;
        }
        Ok(format!(
            "{} changes to {PLUGINS} plugins; {} checks passed: all plugins Ready, Disabled or gone, and exactly the \
             desired objects",
            self.changes, self.checks
        ))
    }
}

impl Test {
    fn start_controller(&self) -> anyhow::Result<Controller> {
        Controller::start(&self.binary, &self.server.endpoint.kubeconfig, &self.log)
    }

    async fn check(&mut self) -> anyhow::Result<()> {
        let controller = self.start_controller()?;
        let checked = async {
            self.plugins
                .wait_until_reconciled(self.desired.len(), RECONCILE_TIMEOUT)
                .await?;
            check(&self.client, &self.desired).await
        };
        checked.await.with_context(|| log_tail(&self.log))?;
        controller.kill().await?;
        self.checks += 1;
        self.is_unchecked = false;
        Ok(())
    }

    /// Changes about every third plugin; the first round creates all of them.
    async fn change_plugins(&mut self) -> anyhow::Result<()> {
        let is_first_round = self.desired.is_empty();
        for number in 0..PLUGINS {
            let name = format!("plugin-{number}");
            let plugin = self.plugins.api.get_opt(&name).await?;
            let is_deleting =
                plugin.is_some_and(|plugin| plugin.metadata.deletion_timestamp.is_some());
            if is_deleting || (!is_first_round && number > 0 && fastrand::u8(..3) > 0) {
                continue;
            }
            self.changes += 1;
            self.change_plugin(name).await?;
        }
        Ok(())
    }

    async fn change_plugin(&mut self, name: String) -> anyhow::Result<()> {
        let desired = match fastrand::u8(..10) {
            0 if self.desired.contains_key(&name) => {
                self.plugins.delete(vec![name.clone()]).await?;
                self.desired.remove(&name);
                return Ok(());
            }
            1 => DesiredPlugin::Disabled,
            _ => DesiredPlugin::Installed {
                maps: fastrand::usize(1..6),
                word: fastrand::u32(..),
            },
        };
        let spec = match desired {
            DesiredPlugin::Disabled => json!({"enabled": false}),
            DesiredPlugin::Installed { maps, word } => {
                json!({"enabled": true, "values": {"maps": maps, "word": word.to_string()}})
            }
        };
        let plugin = self.plugins.plugin(&name, spec)?;
        let params = PatchParams::apply("crash-test").force();
        self.plugins
            .api
            .patch(&name, &params, &Patch::Apply(&plugin))
            .await?;
        self.desired.insert(name, desired);
        Ok(())
    }
}
