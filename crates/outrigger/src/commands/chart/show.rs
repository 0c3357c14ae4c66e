//! `outrigger chart show`: prints the contents of a chart.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_apimachinery::json_path::{JsonPath, MissingKeys};
use outrigger_chart::show::{Part, default_values, show};

use super::remote::RemoteFlags;
use super::source::CompatFlag;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger chart show values ./chart > my-values.yaml
  outrigger chart show values ./chart --jsonpath '{.image.repository}:{.image.tag}'
  outrigger chart show all ./chart-1.2.3.tgz
  outrigger chart show chart oci://registry.local:5000/charts/web --version ^1.2
  outrigger chart show readme ./chart
  outrigger chart show crds ./chart
  outrigger chart show values web --repo https://charts.example.com --version ^1.2";

#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Print everything
    All(Args),
    /// Print Chart.yaml
    Chart(Args),
    /// Print the default values, with their comments
    Values(ValuesArgs),
    /// Print the README
    Readme(Args),
    /// Print the custom resource definitions
    Crds(Args),
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folder or archive, or oci:// or https:// URL of a chart
    chart: PathBuf,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    compat: CompatFlag,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValuesArgs {
    #[command(flatten)]
    args: Args,
    /// Print what a JSON path template selects from the default values, such as `{.image.tag}`
    #[arg(long, value_name = "TEMPLATE")]
    jsonpath: Option<String>,
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (part, args) = match verb {
        Verb::All(args) => (Part::All, args),
        Verb::Chart(args) => (Part::Chart, args),
        Verb::Values(ValuesArgs { args, jsonpath }) => match jsonpath.as_deref() {
            None | Some("") => (Part::Values, args),
            Some(template) => return print_selected(args, template, printer),
        },
        Verb::Readme(args) => (Part::Readme, args),
        Verb::Crds(args) => (Part::Crds, args),
    };
    let profile = args.compat.profile();
    let chart = args.remote.load(&args.chart, profile)?;
    printer.data(show(&chart, part, profile).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// As in Helm, nothing is printed if the template does not apply to the values.
fn print_selected(args: &Args, template: &str, printer: &Printer) -> anyhow::Result<ExitCode> {
    let path = JsonPath::parse(template)
        .map_err(|error| anyhow::anyhow!("error parsing jsonpath {template}: {error}"))?;
    let chart = args.remote.load(&args.chart, args.compat.profile())?;
    let selected = path.execute(&default_values(&chart), MissingKeys::Reject);
    printer.data(selected.unwrap_or_default().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
