//! `outrigger stack plugins`: the plugins that exist, and which are enabled.

use std::process::ExitCode;

use outrigger_stack::configuration::Configuration;
use outrigger_stack::{Origin, Plugin};
use serde::Serialize;

use super::sources::Sources;
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack plugins
  outrigger stack plugins --plugins ./plugins -o json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    version: String,
    origin: Origin,
    /// For which machines it is enabled: `cluster`, names of node pools, or nothing.
    enabled: Vec<String>,
    description: String,
}

impl Row for Listed {
    const HEADERS: &'static [&'static str] =
        &["NAME", "VERSION", "ORIGIN", "ENABLED", "DESCRIPTION"];

    fn cells(&self) -> Vec<String> {
        let origin = match self.origin {
            Origin::Builtin => "built in",
            Origin::Contrib => "contrib",
            Origin::User => "user",
        };
        let enabled = match self.enabled.as_slice() {
            [] => "no".to_owned(),
            enabled => enabled.join(","),
        };
        vec![
            self.name.clone(),
            self.version.clone(),
            origin.to_owned(),
            enabled,
            self.description.clone(),
        ]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let configuration = args.sources.optional_configuration()?;
    let plugins = args.sources.catalog()?;
    if let Some(configuration) = &configuration {
        configuration.check_plugins(&plugins)?;
    }
    let listed = plugins
        .iter()
        .map(|plugin| list(plugin, configuration.as_ref()));
    let listed = listed.collect::<anyhow::Result<Vec<_>>>()?;
    printer.list(args.output.output, &listed)?;
    Ok(ExitCode::SUCCESS)
}

fn list(plugin: &Plugin, configuration: Option<&Configuration>) -> anyhow::Result<Listed> {
    let metadata = &plugin.metadata;
    let enabled = match configuration {
        Some(configuration) => enabled_for(&configuration.activation(plugin)?),
        None if metadata.enabled_by_default => vec!["cluster".to_owned()],
        None => Vec::new(),
    };
    Ok(Listed {
        name: metadata.name.to_string(),
        version: metadata.version.clone(),
        origin: metadata.origin,
        enabled,
        description: metadata.description.clone(),
    })
}

fn enabled_for(activation: &outrigger_stack::configuration::Activation) -> Vec<String> {
    if activation.cluster.is_some() {
        return vec!["cluster".to_owned()];
    }
    activation.pools.keys().map(ToString::to_string).collect()
}
