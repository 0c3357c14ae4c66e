//! The clusters of `up --cluster`: creates them and prints their progress.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::{Cluster, ClusterPhase};

use super::status_lines::StatusLines;
use crate::report::note;

const FIELD_MANAGER: &str = "outrigger-up";

/// The folder of the manifest.
pub(super) fn files_root(manifest: &Path) -> PathBuf {
    let folder = manifest.parent().unwrap_or_else(|| Path::new(""));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Creates the clusters, and applies those that have a name. Returns their names.
pub(super) async fn apply(client: &Client, clusters: Vec<Cluster>) -> anyhow::Result<Vec<String>> {
    let api: Api<Cluster> = Api::all(client.clone());
    let mut names = Vec::new();
    for cluster in clusters {
        let applied = match cluster.metadata.name.clone() {
            None => api.create(&PostParams::default(), &cluster).await,
            Some(name) => {
                let parameters = PatchParams::apply(FIELD_MANAGER).force();
                api.patch(&name, &parameters, &Patch::Apply(&cluster)).await
            }
        };
        let applied = applied.context("failed to create the cluster")?;
        names.push(applied.name_any());
    }
    Ok(names)
}

/// Prints the progress of clusters until they are idle; at once if there are none. Returns whether all are Running.
pub(super) async fn watch(client: &Client, names: &[String], once: bool) -> anyhow::Result<bool> {
    if names.is_empty() {
        return Ok(true);
    }
    let api: Api<Cluster> = Api::all(client.clone());
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut lines = StatusLines::new();
    let mut phases = std::collections::BTreeMap::new();
    loop {
        // The watcher retries. The server runs in this process, so that errors are transient.
        let Ok(event) = events.next().await.context("the watch ended")? else {
            continue;
        };
        let (Event::Apply(cluster) | Event::InitApply(cluster)) = event else {
            continue;
        };
        let name = cluster.name_any();
        let status = cluster.status.clone().unwrap_or_default();
        let is_idle = matches!(status.phase, ClusterPhase::Running | ClusterPhase::Failed);
        lines.set(
            &name,
            line(&cluster),
            false,
            status.phase == ClusterPhase::Running,
        );
        phases.insert(name, (status.phase, is_idle));
        let is_done = |name: &String| phases.get(name).is_some_and(|(_, is_idle)| *is_idle);
        if names.iter().all(is_done) {
            lines.flush();
            let mut phases = phases.values();
            let is_running = phases.all(|(phase, _)| *phase == ClusterPhase::Running);
            if !once {
                note(
                    "outrigger cluster status NAME shows the steps, outrigger cluster logs NAME the output of hooks",
                );
            }
            return Ok(is_running);
        }
    }
}

fn line(cluster: &Cluster) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    let step = status.flow.and_then(|flow| flow.step).unwrap_or_default();
    let detail = if status.message.is_empty() {
        step
    } else {
        status.message
    };
    let text = format!(
        "{:<24} {:<12} {detail}",
        cluster.name_any(),
        format!("{:?}", status.phase)
    );
    text.trim_end().to_owned()
}
