//! `outrigger plugin upgrade`: changes the version of a plugin, and optionally its values.

use anyhow::ensure;

use super::change::{ChangeFlags, ensure_valid};
use super::connect::ClusterFlags;
use super::edit::edit;
use super::spec_flags::SpecFlags;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin upgrade web --version 1.3.0 --wait
  outrigger plugin upgrade web --version '>=1.3, <2' --set replicas=3
  outrigger plugin upgrade web --newest";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure!(
        args.spec.changes_chart(),
        "no version specified: use --version, --newest or --repo"
    );
    let spec = args.spec.read()?;
    let folder = std::env::current_dir()?;
    let connection = args.cluster.connect().await?;
    let api = connection.plugins();
    let changed = edit(&api, &args.name, args.change.dry_run, |plugin| {
        spec.apply(plugin, &folder);
        ensure_valid(plugin)
    });
    let plugins = [changed.await?];
    let change = &args.change;
    change
        .finish(
            &connection,
            &plugins,
            "changed",
            WaitCondition::Ready,
            printer,
        )
        .await
}
