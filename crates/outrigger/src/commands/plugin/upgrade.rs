//! `outrigger plugin upgrade`: another version, and other values if wanted.

use anyhow::ensure;
use outrigger_api::plugin::Plugin;
use outrigger_api::values::merge_maps;

use super::change::{ChangeFlags, ensure_good};
use super::connect::ClusterFlags;
use super::edit::edit;
use super::verdict::Goal;
use super::{repo_path, values};
use crate::commands::chart::values::ValuesFlags;
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
    /// An exact version, or a range of them
    #[arg(long, value_name = "RANGE")]
    version: Option<String>,
    /// Whatever version is the newest, now and later
    #[arg(long, conflicts_with = "version")]
    newest: bool,
    /// Take the chart from another place
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    #[command(flatten)]
    values: ValuesFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    ensure!(
        args.version.is_some() || args.newest || args.repo.is_some(),
        "to which version? use --version, --newest or --repo"
    );
    let new = values::from_flags(&args.values)?;
    let folder = std::env::current_dir()?;
    let connection = args.cluster.connect().await?;
    let change = |plugin: &mut Plugin| {
        if args.newest {
            plugin.spec.version = None;
        }
        if let Some(version) = &args.version {
            plugin.spec.version = Some(version.clone());
        }
        if let Some(repo) = &args.repo {
            plugin.spec.repo = Some(repo_path::absolute(repo, &folder));
        }
        merge_maps(&mut plugin.spec.values, new.clone());
        ensure_good(plugin)
    };
    let api = connection.plugins();
    let plugin = edit(&api, &args.name, args.change.dry_run, change).await?;
    let plugins = [plugin];
    args.change
        .finish(&connection, &plugins, "changed", Goal::Ready, printer)
        .await
}
