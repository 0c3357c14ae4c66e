//! `outrigger cluster delete`: removes a cluster from its machines.

use outrigger_api::cluster::Cluster;

use super::change::{ChangeFlags, Outcome};
use super::edit;
use super::wait::ClusterCondition;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster delete cls-1 --wait
  outrigger cluster delete cls-1 --force    Do not wait for machines that cannot be reached";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Remove the objects even if machines cannot be cleaned up; hooks that did not run never will
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    edit::delete(&connection, &cluster, args.force, change.dry_run).await?;
    let outcome = Outcome {
        requested: ": deletion requested",
        done: " deleted",
    };
    let names = [args.name.clone()];
    let condition = ClusterCondition::Deleted;
    change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}
