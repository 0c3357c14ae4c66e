//! `outrigger cluster retry`: tries failed steps again.

use jiff::Timestamp;
use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::Cluster;
use outrigger_cluster::lifecycle;

use super::change::{ChangeFlags, Outcome};
use super::edit;
use super::wait::ClusterCondition;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster retry cls-1 --wait --timeout 20m";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    let now = Timestamp::now().to_string();
    let annotate = |cluster: &mut Cluster| {
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(RETRY.to_owned(), now.clone());
        Ok(())
    };
    edit::edit(&connection, &cluster, change.dry_run, annotate).await?;
    let (condition, done) = if lifecycle::is_deleted(&cluster) {
        (ClusterCondition::Deleted, " deleted")
    } else {
        let condition = ClusterCondition::Running {
            version: None,
            retry: Some(now.clone()),
        };
        (condition, " is running")
    };
    let outcome = Outcome {
        requested: ": retry requested",
        done,
    };
    let names = [args.name.clone()];
    change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}
