//! The clusters of `up --cluster`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use crate::commands::cluster::file::Manifests;

const FIELD_MANAGER: &str = "outrigger-up";

/// The directory of the manifest.
pub(super) fn files_root(manifest: &Path) -> PathBuf {
    let directory = manifest.parent().unwrap_or_else(|| Path::new(""));
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}

/// Creates the clusters, and applies those that have a name, their workers and Secrets. Returns the names of the clusters.
pub(super) async fn apply(client: &Client, manifests: Manifests) -> anyhow::Result<Vec<String>> {
    manifests.apply_secrets(client, "default", false).await?;
    let api: Api<Cluster> = Api::all(client.clone());
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let mut names = Vec::new();
    for cluster in manifests.clusters {
        let applied = match cluster.metadata.name.clone() {
            None => api.create(&PostParams::default(), &cluster).await,
            Some(name) => api.patch(&name, &parameters, &Patch::Apply(&cluster)).await,
        };
        let applied = applied.context("failed to create the cluster")?;
        names.push(applied.name_any());
    }
    let api: Api<Machine> = Api::all(client.clone());
    for machine in manifests.machines {
        let name = machine.name_any();
        let applied = api.patch(&name, &parameters, &Patch::Apply(&machine)).await;
        applied.with_context(|| format!("failed to create machine {name}"))?;
    }
    Ok(names)
}
