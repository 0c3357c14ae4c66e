//! The clusters of `up --cluster`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;

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
