//! `outrigger plugin set`: changes the values of a plugin.

use anyhow::{anyhow, ensure};
use outrigger_api::plugin::Plugin;
use outrigger_api::values::merge_maps;

use super::change::{ChangeFlags, ensure_valid};
use super::connect::ClusterFlags;
use super::edit::edit;
use super::values;
use super::wait_condition::WaitCondition;
use crate::commands::chart::values::ValuesFlags;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin set web --set replicas=3 --wait
  outrigger plugin set web -f site.yaml --unset ingress.host
  outrigger plugin set web --reset -f site.yaml --dry-run -o yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    #[command(flatten)]
    values: ValuesFlags,
    /// Remove a value, so that the chart's default applies; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "Values")]
    unset: Vec<String>,
    /// Remove all current values first
    #[arg(long, help_heading = "Values")]
    reset: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let new = values::from_flags(&args.values)?;
    ensure!(
        args.reset || !new.is_empty() || !args.unset.is_empty(),
        "no change requested: use --set, -f, --unset or --reset"
    );
    let connection = args.cluster.connect().await?;
    let change = |plugin: &mut Plugin| {
        if args.reset {
            plugin.spec.values.clear();
        }
        for path in &args.unset {
            unset(plugin, path)?;
        }
        merge_maps(&mut plugin.spec.values, new.clone());
        ensure_valid(plugin)
    };
    let api = connection.plugins();
    let plugin = edit(&api, &args.name, args.change.dry_run, change).await?;
    let plugins = [plugin];
    args.change
        .finish(
            &connection,
            &plugins,
            "changed",
            WaitCondition::Ready,
            printer,
        )
        .await
}

fn unset(plugin: &mut Plugin, path: &str) -> anyhow::Result<()> {
    if values::remove(&mut plugin.spec.values, path) {
        return Ok(());
    }
    Err(anyhow!("plugin {} does not set {path}", plugin.name()))
        .hint("outrigger plugin show NAME -o yaml shows its values")
}
