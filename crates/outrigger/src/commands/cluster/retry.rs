//! `outrigger cluster retry`: tries failed steps again.

use jiff::Timestamp;
use outrigger_api::annotation::RETRY;
use serde_json::json;

use super::edit;
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let now = Timestamp::now().to_string();
    let patch = json!({"metadata": {"annotations": {RETRY: now}}});
    edit::patch(&connection, &args.name, &patch).await?;
    printer.line(&format!("cluster {}: retry requested", args.name))
}
