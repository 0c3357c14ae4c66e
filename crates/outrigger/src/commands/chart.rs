//! `outrigger chart`: Helm charts, rendered and inspected without Helm and without a cluster.

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

/// Render, check, package and inspect Helm charts
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Chart {
    /// Print what a chart would install
    Template(template::Args),
    /// Look for mistakes in a chart
    Lint(lint::Args),
    /// Print what is in a chart
    #[command(subcommand)]
    Show(show::What),
    /// Make an archive of a chart folder
    Package(package::Args),
    /// List or fetch the charts that a chart needs
    #[command(subcommand, visible_alias = "dep")]
    Dependency(dependency::Verb),
    /// List the images that a chart would run, and where they are named
    Images(images::Args),
}

/// The stack of a chart command: templates may include each other a thousand deep, as in Helm. Only what is used of it
/// takes memory. It belongs to the first thread, whose heap grows in large steps; that of another grows page by page.
const STACK: usize = 256 << 20;

/// How much of the stack templates may take.
const TEMPLATE_STACK: usize = STACK / 2;

pub(crate) fn run(chart: &Chart, printer: &Printer) -> anyhow::Result<ExitCode> {
    stacker::grow(STACK, || match chart {
        Chart::Template(args) => template::run(args, printer),
        Chart::Lint(args) => lint::run(args, printer),
        Chart::Show(what) => show::run(what, printer),
        Chart::Package(args) => package::run(args, printer),
        Chart::Dependency(verb) => dependency::run(verb, printer),
        Chart::Images(args) => images::run(args, printer),
    })
}
