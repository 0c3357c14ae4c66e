//! The plugin controller on a real kube-apiserver.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use outrigger_api::compat::ForeignKind;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_controller::{Options, crds};
use outrigger_testing::kubernetes::{self, RealKubernetes};
use serde_json::{Value, json};
use tokio::sync::Notify;

const TIMEOUT: Duration = Duration::from_mins(1);

const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: {{ .Values.text | quote }}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
";

fn write_chart(repository: &Path) -> anyhow::Result<()> {
    let chart = repository.join("config");
    fs_err::create_dir_all(chart.join("templates"))?;
    fs_err::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: config\nversion: 1.0.0\n",
    )?;
    fs_err::write(chart.join("values.yaml"), "text: hello\n")?;
    fs_err::write(chart.join("templates/config.yaml"), CONFIG)?;
    Ok(())
}

async fn create(client: &Client, name: &str, spec: Value) -> anyhow::Result<()> {
    let api: Api<Plugin> = Api::default_namespaced(client.clone());
    let plugin = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": name}, "spec": spec,
    });
    let plugin: Plugin = serde_json::from_value(plugin)?;
    api.create(&PostParams::default(), &plugin).await?;
    Ok(())
}

async fn until_phase(client: &Client, name: &str, phase: Phase) -> anyhow::Result<Plugin> {
    let api: Api<Plugin> = Api::default_namespaced(client.clone());
    let has_phase = |plugin: Option<&Plugin>| {
        plugin.is_some_and(|plugin| plugin.is_observed() && plugin.phase() == phase)
    };
    let waited = tokio::time::timeout(TIMEOUT, await_condition(api.clone(), name, has_phase)).await;
    match waited {
        Ok(plugin) => plugin?.context("the plugin was deleted"),
        Err(_) => anyhow::bail!("{name} is {:#?}", api.get(name).await?.status),
    }
}

async fn text(client: &Client, name: &str) -> anyhow::Result<Option<String>> {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map = api.get_opt(name).await?;
    Ok(map.and_then(|map| map.data?.get("text").cloned()))
}

#[tokio::test]
async fn installs_changes_corrects_and_removes_plugins() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(kubernetes::Options::default()).await?;
    let client = kubernetes.client();
    crds::install(&client, true).await?;
    let repository = tempfile::tempdir()?;
    write_chart(repository.path())?;
    let repo = format!("file://{}", repository.path().display());
    let stop = Arc::new(Notify::new());
    let shutdown = {
        let stop = Arc::clone(&stop);
        async move { stop.notified().await }
    };
    let options = Options {
        compat: true,
        ..Options::default()
    };
    let controller = tokio::spawn(outrigger_controller::run(client.clone(), options, shutdown));

    let spec = |dependencies: Value| json!({"repo": repo, "chart": "config", "dependencies": dependencies});
    create(
        &client,
        "app",
        spec(json!([{"name": "base", "version": ">=1"}])),
    )
    .await?;
    let start = Instant::now();
    create(&client, "base", spec(json!([]))).await?;
    until_phase(&client, "app", Phase::Ready).await?;
    println!("a plugin and its dependent: {:?}", start.elapsed());

    change_and_disable(&client, &repo).await?;
    convert_foreign_plugin(&client, &repo).await?;
    stop.notify_one();
    controller.await?;
    Ok(())
}

/// Changes values, causes drift and disables a plugin.
async fn change_and_disable(client: &Client, repo: &str) -> anyhow::Result<()> {
    let plugins: Api<Plugin> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let parameters = PatchParams::default();
    let values = Patch::Merge(json!({"spec": {"values": {"text": "changed"}}}));
    plugins.patch("app", &parameters, &values).await?;
    until_phase(client, "app", Phase::Ready).await?;
    assert_eq!(text(client, "app").await?.as_deref(), Some("changed"));

    let drift = Patch::Merge(json!({"data": {"text": "wrong"}}));
    maps.patch("app", &parameters, &drift).await?;
    let is_corrected = |map: Option<&ConfigMap>| {
        let data = map.and_then(|map| map.data.as_ref());
        data.is_some_and(|data| data["text"] == "changed")
    };
    tokio::time::timeout(TIMEOUT, await_condition(maps.clone(), "app", is_corrected)).await??;

    let disabled = Patch::Merge(json!({"spec": {"enabled": false}}));
    plugins.patch("app", &parameters, &disabled).await?;
    until_phase(client, "app", Phase::Disabled).await?;
    assert_eq!(text(client, "app").await?, None, "{repo}");
    Ok(())
}

/// Installs and deletes a plugin of KubeGems.
async fn convert_foreign_plugin(client: &Client, repo: &str) -> anyhow::Result<()> {
    let api: Api<DynamicObject> =
        Api::default_namespaced_with(client.clone(), &ForeignKind::KubeGemsPlugin.resource());
    let object = json!({
        "apiVersion": "plugins.kubegems.io/v1beta1", "kind": "Plugin", "metadata": {"name": "component-a"},
        "spec": {"enabled": true, "kind": "helm", "repo": repo, "name": "config", "version": "v1.0.0"},
    });
    api.create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    until_phase(client, "component-a", Phase::Ready).await?;
    let is_installed = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["phase"] == "Installed")
    };
    let waited = await_condition(api.clone(), "component-a", is_installed);
    tokio::time::timeout(TIMEOUT, waited).await??;
    api.delete("component-a", &DeleteParams::default()).await?;
    let plugins: Api<Plugin> = Api::default_namespaced(client.clone());
    let gone = await_condition(plugins, "component-a", |plugin: Option<&Plugin>| {
        plugin.is_none()
    });
    tokio::time::timeout(TIMEOUT, gone).await??;
    assert_eq!(text(client, "component-a").await?, None);
    Ok(())
}
