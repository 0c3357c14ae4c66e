//! The API server is down, or hangs, during installations.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::json;

use crate::plugins::cluster::Cluster;
use crate::plugins::desired::{DesiredPlugin, DesiredPlugins, check};
use crate::plugins::plugin_client::PluginClient;
use crate::process::{Controller, signal};
use crate::procfs;

const PLUGINS: usize = 40;
/// Plugins that are Ready when the fault begins.
const READY_BEFORE: usize = 5;
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(2);

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// The server is killed and started again.
    Down,
    /// The server is stopped and continued: it accepts connections and does not respond.
    Hang,
}

pub(super) async fn inject(
    fault: Fault,
    seconds: u64,
    cluster: &mut Cluster,
    controller: &Controller,
) -> anyhow::Result<String> {
    let plugins = cluster.plugins.clone();
    let desired: DesiredPlugins = (0..PLUGINS)
        .map(|number| format!("plugin-{number}"))
        .map(|name| (name, DesiredPlugin::Installed { maps: 2, word: 7 }))
        .collect();
    // Without retries, a controller that counts the outage as a failure gives up.
    let spec = json!({"retries": 0, "values": {"maps": 2, "word": "7"}});
    let created = desired
        .keys()
        .map(|name| plugins.plugin(name, spec.clone()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    plugins.create(created).await?;
    plugins
        .wait_until_some_reconciled(READY_BEFORE, RECONCILE_TIMEOUT)
        .await?;

    let cpu_before = procfs::cpu_time(controller.pid()?)?;
    match fault {
        Fault::Down => cluster.kill_server().await?,
        Fault::Hang => signal("STOP", cluster.server_pid()?).await?,
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let cpu = procfs::cpu_time(controller.pid()?).context("the controller has exited")?;
    let cpu = cpu.saturating_sub(cpu_before);
    match fault {
        Fault::Down => cluster.restart_server().await?,
        Fault::Hang => signal("CONT", cluster.server_pid()?).await?,
    }
    let start = Instant::now();
    plugins
        .wait_until_reconciled(PLUGINS, RECONCILE_TIMEOUT)
        .await?;
    let recovery = start.elapsed();
    check(&cluster.client, &desired).await?;
    check_attempts(&plugins).await?;
    Ok(format!(
        "after {seconds} s in the middle of {PLUGINS} installations, all are Ready in {:.1} s and none failed; the controller \
         used {:.2} s of CPU time meanwhile",
        recovery.as_secs_f64(),
        cpu.as_secs_f64()
    ))
}

/// Checks that no plugin counts the outage as a failure.
async fn check_attempts(plugins: &PluginClient) -> anyhow::Result<()> {
    for plugin in plugins.api.list(&ListParams::default()).await? {
        let attempts = plugin.status.as_ref().map_or(0, |status| status.attempts);
        ensure!(
            attempts == 0,
            "{} counts {attempts} failures",
            plugin.name_any()
        );
    }
    Ok(())
}
