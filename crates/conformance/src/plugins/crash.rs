//! `crash plugins`: kills the controller again and again while plugins are created, changed, disabled and deleted.
//!
//! Eventually every plugin is Ready, Disabled or gone, and the cluster has exactly the desired objects.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::cluster::Cluster;
use super::desired::{DesiredPlugin, DesiredPlugins, check};
use crate::crash::CrashTest;

const PLUGINS: usize = 30;
/// Kills between two checks.
const CHECK_INTERVAL: usize = 10;
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct Test {
    cluster: Cluster,
    desired: DesiredPlugins,
    changes: usize,
    checks: usize,
    /// Whether the controller was killed since the last check.
    is_unchecked: bool,
}

impl CrashTest for Test {
    const DEFAULT_ROUNDS: usize = 100;

    async fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let (cluster, controller) = Cluster::start(binary, directory).await?;
        controller.kill().await?;
        Ok(Self {
            cluster,
            desired: DesiredPlugins::new(),
            changes: 0,
            checks: 0,
            is_unchecked: false,
        })
    }

    async fn round(&mut self, round: usize) -> anyhow::Result<()> {
        self.change_plugins().await?;
        let controller = self.cluster.start_controller()?;
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
    async fn check(&mut self) -> anyhow::Result<()> {
        let controller = self.cluster.start_controller()?;
        let checked = async {
            self.cluster
                .plugins
                .wait_until_reconciled(self.desired.len(), RECONCILE_TIMEOUT)
                .await?;
            check(&self.cluster.client, &self.desired).await
        };
        checked
            .await
            .with_context(|| self.cluster.controller_log_tail())?;
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
            let plugin = self.cluster.plugins.api.get_opt(&name).await?;
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
                self.cluster.plugins.delete(vec![name.clone()]).await?;
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
        let plugin = self.cluster.plugins.plugin(&name, spec)?;
        let params = PatchParams::apply("crash-test").force();
        self.cluster
            .plugins
            .api
            .patch(&name, &params, &Patch::Apply(&plugin))
            .await?;
        self.desired.insert(name, desired);
        Ok(())
    }
}
