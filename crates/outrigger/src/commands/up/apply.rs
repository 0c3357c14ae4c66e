//! Applies the plugins of `--plugins`, unless they were applied before: what the user changed since stays.

use std::collections::BTreeMap;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use outrigger_api::plugin::Plugin;
use serde_json::json;

use crate::report::note;

const FIELD_MANAGER: &str = "outrigger-up";

/// The ConfigMap that records what was applied: the contents of each plugin, by namespace and name.
const RECORD_NAMESPACE: &str = "outrigger-system";
const RECORD_NAME: &str = "outrigger-up";

/// Applies the plugins that are new, or whose files have changed since they were applied.
pub(crate) async fn apply(client: &Client, plugins: &[Plugin]) -> anyhow::Result<()> {
    if plugins.is_empty() {
        return Ok(());
    }
    let applied = read_record(client).await?;
    let mut record = BTreeMap::new();
    let mut kept = 0;
    for plugin in plugins {
        let key = format!("{}.{}", plugin.namespace(), plugin.name());
        let contents = serde_json::to_string(&json!([plugin.metadata, plugin.spec]))?;
        if applied.get(&key) == Some(&contents) {
            kept += 1;
        } else {
            apply_plugin(client, plugin).await?;
        }
        record.insert(key, contents);
    }
    if kept > 0 {
        note(&format!(
            "{kept} of {} plugins are left as they are: their files have not changed since they were applied",
            plugins.len()
        ));
    }
    write_record(client, &record).await
}

async fn apply_plugin(client: &Client, plugin: &Plugin) -> anyhow::Result<()> {
    let mut plugin = plugin.clone();
    let (namespace, name) = (plugin.namespace().to_owned(), plugin.name().to_owned());
    plugin.status = None;
    apply_namespace(client, &namespace).await?;
    let api: Api<Plugin> = Api::namespaced(client.clone(), &namespace);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &parameters, &Patch::Apply(&plugin))
        .await
        .with_context(|| format!("failed to apply plugin {namespace}/{name}"))?;
    Ok(())
}

async fn apply_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let api: Api<Namespace> = Api::all(client.clone());
    let parameters = PatchParams::apply(FIELD_MANAGER);
    api.patch(name, &parameters, &Patch::Apply(&value))
        .await
        .with_context(|| format!("failed to apply namespace {name}"))?;
    Ok(())
}

async fn read_record(client: &Client) -> anyhow::Result<BTreeMap<String, String>> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), RECORD_NAMESPACE);
    let record = api.get_opt(RECORD_NAME).await;
    let record = record.context("failed to read what was applied before")?;
    Ok(record.and_then(|record| record.data).unwrap_or_default())
}

async fn write_record(client: &Client, record: &BTreeMap<String, String>) -> anyhow::Result<()> {
    apply_namespace(client, RECORD_NAMESPACE).await?;
    let value = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD_NAME}, "data": record,
    });
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), RECORD_NAMESPACE);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(RECORD_NAME, &parameters, &Patch::Apply(&value))
        .await
        .context("failed to record what was applied")?;
    Ok(())
}
