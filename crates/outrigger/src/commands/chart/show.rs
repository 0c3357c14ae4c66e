//! `outrigger chart show`: what is in a chart.

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
pub(crate) enum What {
    /// Everything
    All(Args),
    /// What the chart says of itself
    Chart(Args),
    /// The default values, with their comments
    Values(Args),
    /// The readme
    Readme(Args),
    /// The custom resource definitions
    Crds(Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder or an archive
    chart: PathBuf,
    #[command(flatten)]
    compat: CompatFlag,
}

pub(crate) fn run(what: &What, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (part, args) = match what {
        What::All(args) => (Part::All, args),
        What::Chart(args) => (Part::Chart, args),
        What::Values(args) => (Part::Values, args),
        What::Readme(args) => (Part::Readme, args),
        What::Crds(args) => (Part::Crds, args),
    };
    let profile = args.compat.profile();
    let chart = source::load(&args.chart, profile)?;
    printer.bytes(show(&chart, part, profile).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
