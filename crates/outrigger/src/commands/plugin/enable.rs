//! `outrigger plugin enable`: enables plugins.

use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::Plugin;

use super::change::{ChangeFlags, Outcome};
use super::connect::Connection;
use super::edit::edit;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin enable tracing --wait";

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
    let plugins = enable(&connection, &args.names, args.change.dry_run).await?;
    let change = &args.change;
    let outcome = Outcome::new("enabled", WaitCondition::Ready);
    change.finish(&connection, &plugins, outcome, printer).await
}

pub(super) async fn enable(
    connection: &Connection,
    names: &[String],
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let api = connection.plugins();
    let mut plugins = Vec::new();
    for name in names {
        let enabled = edit(&api, name, dry_run, |plugin| {
            plugin.spec.enabled = true;
            if let Some(annotations) = &mut plugin.metadata.annotations {
                // They belong to the removal that this cancels.
                annotations.retain(|name, _| name != CASCADE && name != FORCE);
            }
            Ok(())
        });
        plugins.push(enabled.await?);
    }
    Ok(plugins)
}
