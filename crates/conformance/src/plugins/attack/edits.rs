//! Edits of a release by kubectl, by both Helms and by another controller: all are corrected, and the history stays sane.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use outrigger_testing::peers::{HELM3, HELM4, KUBECTL, Peer};
use serde_json::json;

use super::good_plugin::{TIMEOUT, is_ready, patch, until};
use crate::plugins::cluster::Cluster;
use crate::process::command;

const NAME: &str = "edited";
const MAP: &str = "edited-0";

pub(super) async fn attack(cluster: &Cluster) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    plugins
        .create(vec![plugins.plugin(NAME, json!({}))?])
        .await?;
    until(plugins, NAME, is_ready).await?;
    let mut slowest = Duration::ZERO;
    for round in 0..3 {
        // The first round edits an installed plugin, the others one that is being changed.
        let word = format!("word-{round}");
        for editor in ["kubectl", "helm3", "helm4", "controller", "deletion"] {
            if round > 0 {
                let values = json!({"spec": {"conflicts": "take", "values": {"word": word}}});
                patch(plugins, NAME, values).await?;
            }
            let expected = if round > 0 { word.as_str() } else { "first" };
            edit(cluster, editor)
                .await
                .with_context(|| editor.to_owned())?;
            let start = Instant::now();
            until_word(cluster, expected)
                .await
                .with_context(|| format!("after {editor}"))?;
            until(plugins, NAME, is_ready).await?;
            slowest = slowest.max(start.elapsed());
        }
    }
    Ok(format!(
        "15 edits are corrected, the slowest in {:.2} s",
        slowest.as_secs_f64()
    ))
}

async fn edit(cluster: &Cluster, editor: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client.clone());
    match editor {
        "kubectl" => {
            let patch = "{\"data\":{\"word\":\"kubectl\"}}";
            run(
                cluster,
                KUBECTL,
                &["patch", "configmap", MAP, "--type=merge", "-p", patch],
            )
            .await
        }
        "helm3" => helm(cluster, HELM3).await,
        "helm4" => helm(cluster, HELM4).await,
        "controller" => {
            let parameters = PatchParams::apply("another-controller").force();
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MAP}, "data": {"word": "controller"},
            });
            maps.patch(MAP, &parameters, &Patch::Apply(&object)).await?;
            Ok(())
        }
        _ => {
            maps.delete(MAP, &DeleteParams::default()).await?;
            Ok(())
        }
    }
}

/// Upgrades the release with another value. Helm may find that the controller is in the middle of an upgrade.
async fn helm(cluster: &Cluster, helm: Peer) -> anyhow::Result<()> {
    let chart = cluster.repository.join("small");
    let chart = chart.to_string_lossy();
    let arguments = ["upgrade", NAME, &chart, "--set", "word=helm"];
    match run(cluster, helm, &arguments).await {
        Err(error) if format!("{error:#}").contains("another operation") => Ok(()),
        result => result,
    }
}

async fn run(cluster: &Cluster, program: Peer, arguments: &[&str]) -> anyhow::Result<()> {
    let path: PathBuf = program.installed()?;
    let output = command(path)
        .args(arguments)
        .args(["--namespace", "default", "--kubeconfig"])
        .arg(cluster.kubeconfig())
        .output()
        .await?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {text}");
    Ok(())
}

async fn until_word(cluster: &Cluster, expected: &str) -> anyhow::Result<()> {
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client.clone());
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let map = maps.get_opt(MAP).await?;
        let word = map.and_then(|map| map.data?.remove("word"));
        if word.as_deref() == Some(expected) {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "{MAP} has {word:?}, not {expected}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
