//! `outrigger plugin reconcile`: requests a reconcile at once, with a new look at the repository and without backoff.

use jiff::Timestamp;
use outrigger_api::annotation::RECONCILE;

use super::change::{ChangeFlags, Outcome};
use super::edit::edit_plugin;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin reconcile monitoring --wait";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the plugins
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.change.cluster.connect().await?;
    let api = connection.plugins();
    let now = Timestamp::now().to_string();
    let mut plugins = Vec::new();
    for name in &args.names {
        let edited = edit_plugin(&api, name, args.change.dry_run, |plugin| {
            let annotations = plugin.metadata.annotations.get_or_insert_default();
            annotations.insert(RECONCILE.to_owned(), now.clone());
            Ok(())
        });
        plugins.push(edited.await?);
    }
    let outcome = Outcome::new("reconciled", WaitCondition::Ready).requested("reconcile requested");
    args.change
        .finish(&connection, &plugins, outcome, printer)
        .await
}
