//! `outrigger cluster upgrade`: sets the version of a cluster.

use serde_json::json;

use super::edit;
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Version of Kubernetes, such as 1.34.1
    version: String,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let patch = json!({"spec": {"version": args.version}});
    edit::patch(&connection, &args.name, &patch).await?;
    printer.line(&format!(
        "cluster {}: upgrade to {} requested",
        args.name, args.version
    ))
}
