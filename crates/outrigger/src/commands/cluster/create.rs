//! `outrigger cluster create`: creates clusters from a manifest.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use outrigger_api::machine::Machine;

use super::change::{ChangeFlags, Outcome};
use super::file::Manifests;
use super::wait::ClusterCondition;
use super::{clusters, explain, file};
use crate::commands::machine::wait::MachineCondition;
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::edit::parameters;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster create -f cluster.yaml --dry-run
  outrigger cluster create -f cluster.yaml --wait --timeout 30m";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Manifest of the cluster, also one of TKEStack, with its workers and Secrets; - is stdin
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let manifests = file::read(&args.filename)?;
    let change = &args.change;
    let connection = change.server.connect().await?;
    let names = create(&connection, &manifests, change.dry_run).await?;
    let outcome = Outcome {
        requested: " created",
        done: " is running",
    };
    let condition = ClusterCondition::RUNNING;
    let machines = manifests.machines.iter().map(ResourceExt::name_any);
    let machines: Vec<String> = machines.collect();
    let clusters = (&names[..], &condition);
    let machines = (&machines[..], &MachineCondition::Running);
    change
        .finish_clusters(&connection.client, clusters, machines, outcome, printer)
        .await
}

/// Creates the objects: Secrets first, because machines refer to them. Returns the names of the clusters.
async fn create(
    connection: &Connection,
    manifests: &Manifests,
    dry_run: bool,
) -> anyhow::Result<Vec<String>> {
    ensure_free(connection, manifests).await?;
    let (client, namespace) = (&connection.client, &connection.namespace);
    manifests.ensure_clusters_of_machines(client).await?;
    manifests.apply_secrets(client, namespace, dry_run).await?;
    let mut names = Vec::new();
    for cluster in &manifests.clusters {
        let name = cluster.metadata.name.clone();
        let created = clusters(connection)
            .create(&parameters(dry_run), cluster)
            .await;
        let created = created.map_err(|error| explain(&error, name.as_deref()))?;
        names.push(created.name_any());
    }
    let machines: Api<Machine> = Api::all(client.clone());
    for machine in &manifests.machines {
        let created = machines.create(&parameters(dry_run), machine).await;
        let name = machine.name_any();
        created.with_context(|| format!("failed to create machine {name}"))?;
    }
    Ok(names)
}

/// Rejects addresses that belong to machines of other clusters, which the controller would refuse.
async fn ensure_free(connection: &Connection, manifests: &Manifests) -> anyhow::Result<()> {
    let api: Api<Machine> = Api::all(connection.client.clone());
    let list = api.list(&ListParams::default()).await;
    let known = list.map_err(|error| explain(&error, None))?.items;
    for cluster in &manifests.clusters {
        for access in &cluster.spec.machines {
            let address = access.address();
            let mut known = known.iter();
            let owner = known.find(|machine| machine.spec.access.address() == address);
            let Some(owner) = owner else { continue };
            if Some(&owner.spec.cluster) != cluster.metadata.name.as_ref() {
                let (name, cluster) = (owner.name_any(), &owner.spec.cluster);
                bail!("{address} belongs to machine {name} of cluster {cluster}");
            }
        }
    }
    Ok(())
}
