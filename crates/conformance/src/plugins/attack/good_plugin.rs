//! A plugin that is installed, changed and removed during an attack.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::json;

use crate::plugins::plugin_client::PluginClient;

/// The limit for waits that have no promise.
pub(super) const TIMEOUT: Duration = Duration::from_mins(3);

/// Installs, changes and removes a plugin, each within the limit. Returns how long each took.
pub(super) async fn exercise(plugins: &PluginClient, limit: Duration) -> anyhow::Result<String> {
    const NAME: &str = "good";
    let start = Instant::now();
    let plugin = plugins.plugin(NAME, json!({}))?;
    plugins.create(vec![plugin]).await?;
    until(plugins, NAME, is_ready).await.context("install")?;
    let installed = start.elapsed();
    let start = Instant::now();
    patch(
        plugins,
        NAME,
        json!({"spec": {"values": {"word": "changed"}}}),
    )
    .await?;
    until(plugins, NAME, is_ready).await.context("change")?;
    let changed = start.elapsed();
    let start = Instant::now();
    remove(plugins, NAME).await?;
    let removed = start.elapsed();
    for (step, elapsed) in [
        ("install", installed),
        ("change", changed),
        ("removal", removed),
    ] {
        ensure!(elapsed <= limit, "{step} of a good plugin took {elapsed:?}");
    }
    Ok(format!(
        "a good plugin is installed in {:.2} s, changed in {:.2} s, removed in {:.2} s",
        installed.as_secs_f64(),
        changed.as_secs_f64(),
        removed.as_secs_f64()
    ))
}

pub(super) fn is_ready(plugin: &Plugin) -> bool {
    plugin.is_ready() && plugin.phase() == Phase::Ready
}

/// Waits until a plugin satisfies a condition.
pub(super) async fn until(
    plugins: &PluginClient,
    name: &str,
    is_met: impl Fn(&Plugin) -> bool,
) -> anyhow::Result<Plugin> {
    let condition = |plugin: Option<&Plugin>| plugin.is_some_and(&is_met);
    let waited = await_condition(plugins.api.clone(), name, condition);
    if let Ok(plugin) = tokio::time::timeout(TIMEOUT, waited).await {
        return plugin?.with_context(|| format!("{name} does not exist"));
    }
    let status = plugins.api.get(name).await?.status;
    anyhow::bail!("{name} is {status:#?}")
}

pub(super) async fn patch(
    plugins: &PluginClient,
    name: &str,
    patch: serde_json::Value,
) -> anyhow::Result<()> {
    let parameters = PatchParams::default();
    plugins
        .api
        .patch(name, &parameters, &Patch::Merge(&patch))
        .await?;
    Ok(())
}

/// Deletes a plugin and waits until it is gone.
pub(super) async fn remove(plugins: &PluginClient, name: &str) -> anyhow::Result<()> {
    plugins.api.delete(name, &DeleteParams::default()).await?;
    let gone = await_condition(plugins.api.clone(), name, |plugin: Option<&Plugin>| {
        plugin.is_none()
    });
    let gone = tokio::time::timeout(TIMEOUT, gone).await;
    gone.with_context(|| format!("{name} is not removed"))??;
    Ok(())
}
