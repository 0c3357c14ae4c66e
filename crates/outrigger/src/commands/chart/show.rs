//! `outrigger chart show`: prints the contents of a chart.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::show::{Part, show};

use super::source::{self, CompatFlag};
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger chart show values ./chart > my-values.yaml
  outrigger chart show all ./chart-1.2.3.tgz";

#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Print everything
    All(Args),
    /// Print Chart.yaml
    Chart(Args),
    /// Print the default values, with their comments
    Values(Args),
    /// Print the README
    Readme(Args),
    /// Print the custom resource definitions
    Crds(Args),
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folder or archive
    chart: PathBuf,
    #[command(flatten)]
    compat: CompatFlag,
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (part, args) = match verb {
        Verb::All(args) => (Part::All, args),
        Verb::Chart(args) => (Part::Chart, args),
        Verb::Values(args) => (Part::Values, args),
        Verb::Readme(args) => (Part::Readme, args),
        Verb::Crds(args) => (Part::Crds, args),
    };
    let profile = args.compat.profile();
    let chart = source::load(&args.chart, profile)?;
    printer.bytes(show(&chart, part, profile).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
