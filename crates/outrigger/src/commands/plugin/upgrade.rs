//! `outrigger plugin upgrade`: changes the version of a plugin, and optionally its values.

use anyhow::ensure;
use outrigger_api::plugin::Plugin;

use super::change::ChangeFlags;
use super::spec_flags::SpecFlags;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin upgrade web --version 1.3.0 --wait
  outrigger plugin upgrade web --version '>=1.3, <2' --set replicas=3
  outrigger plugin upgrade web --latest";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure!(
        args.spec.changes_chart(),
        "no change requested: use --version, --latest, --repo or --conflicts"
    );
    let spec = args.spec.read()?;
    let folder = std::env::current_dir()?;
    let change = |plugin: &mut Plugin| {
        spec.apply(plugin, &folder);
        Ok(())
    };
    args.change.edit(&args.name, printer, change).await
}
