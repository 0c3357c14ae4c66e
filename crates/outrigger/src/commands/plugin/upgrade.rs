//! `outrigger plugin upgrade`: changes the version of a plugin, and optionally its values.

use std::path::Path;

use outrigger_api::plugin::Plugin;

use super::change::ChangeFlags;
use super::install::{local_or_remote, name_oci_chart};
use super::repo_path;
use super::spec_flags::SpecFlags;
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin upgrade web --version 1.3.0 --wait
  outrigger plugin upgrade web --version '>=1.3, <2' --set replicas=3
  outrigger plugin upgrade web ./charts/web --wait
  outrigger plugin upgrade web --latest";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    /// The new chart: a directory, an archive or a URL
    #[arg(conflicts_with = "repo")]
    chart: Option<String>,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let directory = std::env::current_dir()?;
    let spec = args.spec.read(&directory)?;
    let source = args.chart.as_deref().map(|chart| source(chart, &directory));
    let source = source.transpose()?;
    if source.is_none() && !args.spec.changes_chart() {
        let message = "no change requested: name a chart, or use --version, --latest, --repo or --conflicts; `plugin set` changes values";
        return Err(UsageError(message.to_owned()).into());
    }
    let change = |plugin: &mut Plugin| {
        spec.apply(plugin, &directory);
        if let Some(source) = &source {
            plugin.spec.repo = Some(source.clone());
            // It is the only chart of the source.
            plugin.spec.chart = None;
            name_oci_chart(&mut plugin.spec, args.spec.version())?;
        }
        Ok(())
    };
    args.change
        .edit(&args.name, "upgraded", printer, change)
        .await
}

/// The source that the argument names. Unlike with `plugin install`, it is not the name of a chart: the plugin has one.
fn source(chart: &str, directory: &Path) -> anyhow::Result<String> {
    if let Some(source) = local_or_remote(chart, directory) {
        repo_path::ensure_exists(&source, directory)?;
        return Ok(repo_path::absolute(&source, directory));
    }
    let text = format!("{chart} is neither a chart directory, an archive nor a URL");
    let hint = "use --repo for a repository and --version for a version";
    Err(UsageError(text)).hint(hint)
}
