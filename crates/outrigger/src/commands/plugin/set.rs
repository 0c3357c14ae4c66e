//! `outrigger plugin set`: changes the values of a plugin.

use anyhow::anyhow;
use outrigger_api::plugin::{Conflicts, Plugin};
use outrigger_api::values::merge_maps;

use super::change::ChangeFlags;
use super::spec_flags::parse_conflicts;
use super::values;
use crate::commands::chart::values::ValuesFlags;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin set web --set replicas=3 --wait
  outrigger plugin set web -f site.yaml --unset ingress.host
  outrigger plugin set web --reset -f site.yaml --dry-run -o yaml
  outrigger plugin set web --conflicts take";

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
    /// What to do about fields that another field manager changed: take, keep or fail
    #[arg(long, value_name = "POLICY", value_parser = parse_conflicts)]
    conflicts: Option<Conflicts>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let new = values::from_flags(&args.values)?;
    if !args.reset && new.is_empty() && args.unset.is_empty() && args.conflicts.is_none() {
        let message = "no change requested: use --set, -f, --unset, --reset or --conflicts";
        return Err(UsageError(message.to_owned()).into());
    }
    let change = |plugin: &mut Plugin| {
        if args.reset {
            plugin.spec.values.clear();
        }
        for path in &args.unset {
            unset(plugin, path)?;
        }
        if let Some(conflicts) = args.conflicts {
            plugin.spec.conflicts = conflicts;
        }
        merge_maps(&mut plugin.spec.values, new.clone());
        Ok(())
    };
    args.change
        .edit(&args.name, "configured", printer, change)
        .await
}

fn unset(plugin: &mut Plugin, path: &str) -> anyhow::Result<()> {
    if values::remove(&mut plugin.spec.values, path) {
        return Ok(());
    }
    Err(anyhow!("plugin {} does not set {path}", plugin.name())).hint(format!(
        "outrigger plugin show {} -n {} -o yaml shows its values",
        plugin.name(),
        plugin.namespace()
    ))
}
