//! `outrigger plugin upgrade`: another version, and other values if wanted.

use anyhow::ensure;

use super::change::{ChangeFlags, ensure_good};
use super::connect::ClusterFlags;
use super::edit::edit;
use super::verdict::Goal;
use super::wish::WishFlags;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin upgrade web --version 1.3.0 --wait
  outrigger plugin upgrade web --version '>=1.3, <2' --set replicas=3
  outrigger plugin upgrade web --newest";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin
    name: String,
    #[command(flatten)]
    wish: WishFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure!(
        args.wish.is_other_chart(),
        "to which version? use --version, --newest or --repo"
    );
    let wish = args.wish.read()?;
    let folder = std::env::current_dir()?;
    let connection = args.cluster.connect().await?;
    let api = connection.plugins();
    let changed = edit(&api, &args.name, args.change.dry_run, |plugin| {
        wish.apply(plugin, &folder);
        ensure_good(plugin)
    });
    let plugins = [changed.await?];
    let change = &args.change;
    change
        .finish(&connection, &plugins, "changed", Goal::Ready, printer)
        .await
}
