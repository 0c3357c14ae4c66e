//! `outrigger plugin diff`: shows what a change would do, by object and field.

use std::path::{Path, PathBuf};

use outrigger_api::plugin::Plugin;
use outrigger_controller::{Options, preview};
use outrigger_release::Plan;

use super::change::ensure_valid;
use super::connect::{ClusterFlags, Connection};
use super::spec_flags::SpecFlags;
use super::{file, repo_path};
use crate::arguments::{Output, OutputFlag};
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin diff web --version 1.3.0
  outrigger plugin diff web --set replicas=3 -o json
  outrigger plugin diff -F plugin.yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    #[arg(required_unless_present = "plugin_files")]
    name: Option<String>,
    /// Files or folders with the changed plugins, `-` for stdin
    #[arg(
        short = 'F',
        long = "file",
        value_name = "FILE",
        conflicts_with_all = [
            "name", "version", "latest", "repo", "conflicts", "files", "set", "set_string", "set_json", "set_file", "set_literal",
        ]
    )]
    plugin_files: Vec<PathBuf>,
    #[command(flatten)]
    spec: SpecFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let folder = std::env::current_dir()?;
    let mut plugins = match args.plugin_files.as_slice() {
        [] => Vec::new(),
        files => file::read(files)?,
    };
    let connection = args.cluster.connect().await?;
    if let Some(name) = &args.name {
        let mut plugin = connection.get(name).await?;
        args.spec.read()?.apply(&mut plugin, &folder);
        plugins.push(plugin);
    }
    let mut plans = Vec::new();
    for plugin in plugins {
        plans.push(Box::pin(plan(&connection, plugin, &folder)).await?);
    }
    match (args.output.output, plans.as_slice()) {
        (Output::Table, plans) => plans
            .iter()
            .try_for_each(|plan| printer.bytes(plan.to_string().as_bytes())),
        (format, [plan]) => printer.value(format, plan),
        (format, plans) => printer.value(format, &plans),
    }
}

/// Plans what the controller would do.
pub(super) async fn plan(
    connection: &Connection,
    mut plugin: Plugin,
    folder: &Path,
) -> anyhow::Result<Plan> {
    let namespace = &mut plugin.metadata.namespace;
    namespace.get_or_insert_with(|| connection.namespace.clone());
    let repo = plugin.spec.repo.as_deref();
    plugin.spec.repo = repo.map(|repo| repo_path::absolute(repo, folder));
    ensure_valid(&plugin)?;
    if !plugin.spec.enabled {
        note(&format!(
            "plugin {} is disabled; the diff assumes that it is enabled",
            plugin.name()
        ));
    }
    let options = Options {
        fetcher: outrigger_repository::Options::for_user(),
        ..Options::default()
    };
    Ok(Box::pin(preview(connection.client.clone(), options, &plugin)).await?)
}
