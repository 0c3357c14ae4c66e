//! `outrigger cluster delete`: removes a cluster from its machines.

use kube::api::DeleteParams;
use outrigger_api::annotation::FORCE;
use serde_json::json;

use super::{clusters, edit, explain};
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Remove the objects even if machines cannot be cleaned up; hooks that did not run never will
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    if args.force {
        let patch = json!({"metadata": {"annotations": {FORCE: "true"}}});
        edit::patch(&connection, &args.name, &patch).await?;
    }
    let deleted = clusters(&connection)
        .delete(&args.name, &DeleteParams::default())
        .await;
    deleted.map_err(|error| explain(&error, Some(&args.name)))?;
    printer.line(&format!("cluster {}: deletion requested", args.name))
}
