//! The clusters of `up --cluster`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use outrigger_api::annotation::APPLIED_DIGEST;
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;

use crate::commands::cluster::file::Manifests;
use crate::commands::cluster::watch::Watch;
use crate::report::note;

const FIELD_MANAGER: &str = "outrigger-up";

/// The objects of a manifest that are on the server.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The names of the clusters.
    pub(crate) clusters: Vec<String>,
    pub(crate) workers: Vec<Machine>,
    /// When that began.
    since: Timestamp,
}

impl Applied {
    /// A watch of the clusters, also of those that only have workers in the manifest.
    pub(crate) fn watch(&self, client: &Client) -> Watch {
        let of_workers = self.workers.iter().map(|worker| &worker.spec.cluster);
        let names = self.clusters.iter().chain(of_workers);
        let mut watch = Watch::new(client, names.cloned());
        watch.set_since(self.since);
        for worker in &self.workers {
            watch.expect(worker);
        }
        watch
    }
}

/// The directory of the manifest.
pub(crate) fn files_root(manifest: &Path) -> PathBuf {
    let directory = manifest.parent().unwrap_or_else(|| Path::new(""));
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}

/// Creates the clusters, and applies those that have a name, their workers and Secrets. A cluster whose manifest was applied
/// before stays as it is, with its workers.
pub(crate) async fn apply(client: &Client, manifests: Manifests) -> anyhow::Result<Applied> {
    let since = Timestamp::now();
    manifests.ensure_clusters_of_machines(client).await?;
    manifests.apply_secrets(client, "default", false).await?;
    let Manifests {
        clusters,
        mut machines,
        ..
    } = manifests;
    let workers = machines.clone();
    let mut names = Vec::new();
    for cluster in clusters {
        let name = cluster.metadata.name.clone();
        let is_own = |machine: &Machine| Some(&machine.spec.cluster) == name.as_ref();
        let (own, others) = machines.into_iter().partition(is_own);
        machines = others;
        names.push(apply_cluster(client, cluster, own).await?);
    }
    apply_machines(client, machines).await?;
    let existing = Api::<Machine>::all(client.clone());
    let existing = existing.list_metadata(&ListParams::default()).await;
    let existing = existing.context("failed to list machines")?.items;
    let existing: BTreeSet<String> = existing.iter().map(ResourceExt::name_any).collect();
    let workers = workers.into_iter();
    Ok(Applied {
        clusters: names,
        // Those of a cluster that was left as it is may have been removed.
        workers: workers
            .filter(|worker| existing.contains(&worker.name_any()))
            .collect(),
        since,
    })
}

async fn apply_cluster(
    client: &Client,
    mut cluster: Cluster,
    workers: Vec<Machine>,
) -> anyhow::Result<String> {
    let api: Api<Cluster> = Api::all(client.clone());
    let Some(name) = cluster.metadata.name.clone() else {
        let created = api.create(&PostParams::default(), &cluster).await;
        return Ok(created.context("failed to create the cluster")?.name_any());
    };
    let digest = digest(&cluster, &workers)?;
    let existing = api.get_opt(&name).await;
    let existing = existing.with_context(|| format!("failed to read cluster {name}"))?;
    if existing.is_some_and(|it| it.annotations().get(APPLIED_DIGEST) == Some(&digest)) {
        note(&format!(
            "cluster {name} is left as it is: its manifest has not changed since it was applied"
        ));
        return Ok(name);
    }
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    annotations.insert(APPLIED_DIGEST.to_owned(), digest);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let applied = api.patch(&name, &parameters, &Patch::Apply(&cluster)).await;
    applied.with_context(|| format!("failed to apply cluster {name}"))?;
    apply_machines(client, workers).await?;
    Ok(name)
}

/// Identifies the contents of a manifest. They include credentials.
fn digest(cluster: &Cluster, workers: &[Machine]) -> anyhow::Result<String> {
    let contents = serde_json::to_vec(&(cluster, workers))?;
    Ok(outrigger_oci::Digest::of(&contents).to_string())
}

async fn apply_machines(client: &Client, machines: Vec<Machine>) -> anyhow::Result<()> {
    let api: Api<Machine> = Api::all(client.clone());
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    for machine in machines {
        let name = machine.name_any();
        let applied = api.patch(&name, &parameters, &Patch::Apply(&machine)).await;
        applied.with_context(|| format!("failed to apply machine {name}"))?;
    }
    Ok(())
}
