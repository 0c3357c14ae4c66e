//! Plugins that share a release, or objects: the second is rejected and names the owner, and its removal harms nobody.

use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::json;

use super::good_plugin::{is_ready, patch, remove, until};
use crate::plugins::cluster::Cluster;

fn reason(plugin: &Plugin) -> &str {
    plugin.condition("Ready").map_or("", |ready| &ready.reason)
}

fn message(plugin: &Plugin) -> &str {
    plugin.condition("Ready").map_or("", |ready| &ready.message)
}

/// The owner of a release stays Ready with all its objects, whatever happens to the others that name it.
pub(super) async fn releases(cluster: &Cluster) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    let owner = plugins.plugin("owner", json!({}))?;
    plugins.create(vec![owner]).await?;
    until(plugins, "owner", is_ready).await?;
    let twin = json!({"releaseName": "owner", "values": {"maps": 1, "word": "twin"}});
    plugins.create(vec![plugins.plugin("twin", twin)?]).await?;
    let twin = until(plugins, "twin", |plugin| {
        reason(plugin) == "ReleaseConflict"
    })
    .await?;
    ensure!(
        message(&twin).contains("plugin owner"),
        "{}",
        message(&twin)
    );
    patch(plugins, "twin", json!({"spec": {"enabled": false}})).await?;
    until(plugins, "twin", |plugin| {
        plugin.is_observed() && plugin.phase() == Phase::Disabled
    })
    .await?;
    patch(plugins, "twin", json!({"spec": {"enabled": true}})).await?;
    until(plugins, "twin", |plugin| {
        reason(plugin) == "ReleaseConflict"
    })
    .await?;
    remove(plugins, "twin").await?;
    check_word(cluster, "owner-0", "first").await?;
    until(plugins, "owner", is_ready).await?;
    Ok(
        "the second plugin names the owner; disabling and removing it leaves the release alone"
            .to_owned(),
    )
}

/// A plugin that renders the objects of another fails and names the other release; both survive.
pub(super) async fn objects(cluster: &Cluster) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    let first = json!({"kind": "manifests", "repo": null, "resources": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"word": "first"}},
    ]});
    plugins
        .create(vec![plugins.plugin("first", first.clone())?])
        .await?;
    until(plugins, "first", is_ready).await?;
    plugins
        .create(vec![plugins.plugin("second", first)?])
        .await?;
    let second = until(plugins, "second", |plugin| {
        plugin.is_observed() && plugin.phase() == Phase::Failed
    })
    .await?;
    ensure!(message(&second).contains("first"), "{}", message(&second));
    remove(plugins, "second").await?;
    check_word(cluster, "shared", "first").await?;
    until(plugins, "first", is_ready).await?;
    Ok(
        "the second plugin fails and names the release that owns the object, which stays"
            .to_owned(),
    )
}

async fn check_word(cluster: &Cluster, name: &str, expected: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client.clone());
    let map = maps.get(name).await?;
    let word = map.data.unwrap_or_default().remove("word");
    ensure!(word.as_deref() == Some(expected), "{name} has {word:?}");
    Ok(())
}
