//! `outrigger stack plan`: what each plugin contributes.

use std::process::ExitCode;

use anyhow::anyhow;
use outrigger_apimachinery::nearest::nearest;
use outrigger_model::Contribution;
use outrigger_stack::Plugin;
use outrigger_stack::check::privileges;
use outrigger_stack::pipeline::Initialised;
use serde::Serialize;

use super::findings::require;
use super::sources::Sources;
use crate::arguments::OutputFlag;
use crate::printer::{Color, Printer, Row};
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack plan
  outrigger stack plan --plugin kube2iam
  outrigger stack plan --permissions                  Only the permissions that plugins ask for";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    /// Only this plugin
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Only permissions of IAM roles
    #[arg(long)]
    permissions: bool,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Contributed {
    plugin: String,
    scope: String,
    kind: &'static str,
    key: String,
}

impl Row for Contributed {
    const HEADERS: &'static [&'static str] = &["PLUGIN", "SCOPE", "KIND", "NAME"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.plugin.clone(),
            self.scope.clone(),
            self.kind.to_owned(),
            self.key.clone(),
        ]
    }
}

#[derive(Debug, Serialize)]
struct Permission {
    plugin: String,
    scope: String,
    actions: Vec<String>,
    wildcard: Option<String>,
}

impl Row for Permission {
    const HEADERS: &'static [&'static str] = &["PLUGIN", "SCOPE", "ACTIONS", "WILDCARD"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.plugin.clone(),
            self.scope.clone(),
            self.actions.join(","),
            self.wildcard.clone().unwrap_or_default(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 3).then_some(Color::Yellow)
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.plugin {
        ensure_known(name, &args.sources.catalog()?)?;
    }
    let pipeline = args.sources.pipeline()?;
    let initialised = require(pipeline.initialise())?;
    // The checks of the stage render find what would stop a deployment.
    require(pipeline.render(&initialised))?;
    let is_shown = |plugin: &str| args.plugin.as_deref().is_none_or(|name| name == plugin);
    if args.permissions {
        let mut all = permissions(&initialised);
        all.retain(|permission| is_shown(&permission.plugin));
        printer.list(args.output.output, &all)?;
    } else {
        let mut all = contributed(initialised.model.contributions());
        all.retain(|contributed| is_shown(&contributed.plugin));
        printer.list(args.output.output, &all)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ensure_known(name: &str, plugins: &[Plugin]) -> anyhow::Result<()> {
    let names = plugins.iter().map(|plugin| plugin.metadata.name.as_str());
    let names: Vec<&str> = names.collect();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = match nearest(name, &names) {
        Some(similar) => format!("did you mean {similar}?"),
        None => "outrigger stack plugins lists all plugins".to_owned(),
    };
    Err(anyhow!("plugin {name} does not exist")).hint(hint)
}

fn contributed(contributions: Vec<Contribution>) -> Vec<Contributed> {
    let listed = contributions.into_iter().map(|contribution| Contributed {
        plugin: contribution.owner.to_string(),
        scope: contribution.scope.to_string(),
        kind: contribution.construct.kind(),
        key: contribution.construct.key(),
    });
    let mut listed: Vec<Contributed> = listed.collect();
    listed.sort();
    listed
}

fn permissions(initialised: &Initialised) -> Vec<Permission> {
    let all = privileges(&initialised.model).into_iter();
    let all = all.flat_map(|privilege| {
        let actions: Vec<String> = privilege.actions.iter().cloned().collect();
        let (scope, wildcard) = (privilege.scope.to_string(), privilege.wildcard);
        privilege.owners.into_iter().map(move |owner| Permission {
            plugin: owner.to_string(),
            scope: scope.clone(),
            actions: actions.clone(),
            wildcard: wildcard.clone(),
        })
    });
    all.collect()
}
