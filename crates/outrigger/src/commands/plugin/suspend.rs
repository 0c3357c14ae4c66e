//! `outrigger plugin suspend` and `resume`: the controller leaves a plugin alone, and takes it up again.

use outrigger_api::annotation::SUSPEND;

use super::change::{ChangeFlags, Outcome};
use super::edit::edit_plugin;
use super::removal::annotate;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;

pub(super) const SUSPEND_EXAMPLES: &str = "\
Examples:
  outrigger plugin suspend monitoring";

pub(super) const RESUME_EXAMPLES: &str = "\
Examples:
  outrigger plugin resume monitoring --wait";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names of the plugins
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, suspend: bool, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.change.cluster.connect().await?;
    let api = connection.plugins();
    let mut plugins = Vec::new();
    for name in &args.names {
        let edited = edit_plugin(&api, name, args.change.dry_run, |plugin| {
            if suspend {
                annotate(plugin, SUSPEND);
            } else if let Some(annotations) = &mut plugin.metadata.annotations {
                annotations.remove(SUSPEND);
            }
            Ok(())
        });
        plugins.push(edited.await?);
    }
    let outcome = if suspend {
        Outcome::immediate("suspended")
    } else {
        Outcome::new("resumed", WaitCondition::Ready)
    };
    args.change
        .finish(&connection, &plugins, outcome, printer)
        .await
}
