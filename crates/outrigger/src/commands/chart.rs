//! `outrigger chart`: works on Helm charts without Helm and without a cluster.

use std::process::ExitCode;

use crate::printer::Printer;

mod dependency;
mod host;
mod images;
mod lint;
mod package;
mod show;
mod source;
mod template;
pub(crate) mod values;

/// Render, lint, package and inspect Helm charts
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Chart {
    /// Render the templates of a chart
    Template(template::Args),
    /// Examine a chart for possible issues
    Lint(lint::Args),
    /// Print the contents of a chart
    #[command(subcommand)]
    Show(show::Verb),
    /// Package a chart folder into an archive
    Package(package::Args),
    /// List, build or update the dependencies of a chart
    #[command(subcommand, visible_alias = "dep")]
    Dependency(dependency::Verb),
    /// List the images of a chart, and the fields that reference them
    Images(images::Args),
}

/// The stack size of a chart command: templates may include each other 1000 levels deep, as in Helm. Unused pages are
/// never committed. The main thread gets this stack, not a new thread: its heap grows in larger steps.
const STACK: usize = 256 << 20;

/// The share of the stack that templates may use.
const TEMPLATE_STACK: usize = STACK / 2;

pub(crate) fn run(chart: &Chart, printer: &Printer) -> anyhow::Result<ExitCode> {
    stacker::grow(STACK, || match chart {
        Chart::Template(args) => template::run(args, printer),
        Chart::Lint(args) => lint::run(args, printer),
        Chart::Show(verb) => show::run(verb, printer),
        Chart::Package(args) => package::run(args, printer),
        Chart::Dependency(verb) => dependency::run(verb, printer),
        Chart::Images(args) => images::run(args, printer),
    })
}
