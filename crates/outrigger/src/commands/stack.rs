//! `outrigger stack`: staged plugins that describe a cluster before it exists.

use std::process::ExitCode;

use crate::printer::Printer;

mod diff;
mod findings;
mod init;
mod lint;
mod new;
mod plan;
mod plugins;
mod render;
mod sources;

const EXAMPLES: &str = "\
Examples:
  outrigger stack new demo --region eu-west-1        Write a cluster.yaml to start from
  outrigger stack plugins --plugins ./plugins        List the plugins, and which are enabled
  outrigger stack plan                               Show what each plugin contributes
  outrigger stack render                             Write CloudFormation templates and files
  outrigger stack diff                               Compare them with those that were written before";

/// Describe clusters with staged plugins, and render them to CloudFormation
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Write a cluster.yaml to start from
    #[command(after_help = new::EXAMPLES)]
    New(new::Args),
    /// List the plugins, where they come from and which are enabled
    #[command(visible_alias = "plugin", after_help = plugins::EXAMPLES)]
    Plugins(plugins::Args),
    /// Run the stage initialise: write the configuration and all contributions of plugins
    #[command(visible_alias = "initialise", after_help = init::EXAMPLES)]
    Init(sources::StageArgs),
    /// Run the stages initialise and render: write CloudFormation templates and files
    #[command(after_help = render::EXAMPLES)]
    Render(render::Args),
    /// Show what each plugin contributes, which resources of others it changes, and which permissions it asks for
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::Args),
    /// Compare what would be rendered with the files of the last render; exits with 1 if they differ
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::Args),
    /// Check the configuration and the plugins, and write nothing
    #[command(after_help = lint::EXAMPLES)]
    Lint(lint::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::New(args) => new::run(args, printer),
        Verb::Plugins(args) => plugins::run(args, printer),
        Verb::Init(args) => init::run(args, printer),
        Verb::Render(args) => render::run(args, printer),
        Verb::Plan(args) => plan::run(args, printer),
        Verb::Diff(args) => diff::run(args, printer),
        Verb::Lint(args) => lint::run(args, printer),
    }
}
