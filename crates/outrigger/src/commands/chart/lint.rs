//! `outrigger chart lint`: reports what `helm lint` reports.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::lint::{LintOptions, lint, print};
use outrigger_chart::{KubeVersion, load};

use super::host::LocalHost;
use super::render_flags::RenderFlags;
use super::source::helm_error;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger chart lint ./chart
  outrigger chart lint ./chart -f site.yaml --strict";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart folders
    #[arg(default_value = ".")]
    charts: Vec<PathBuf>,
    #[command(flatten)]
    render: RenderFlags,
    /// Fail on lint warnings
    #[arg(long)]
    strict: bool,
    /// Print only warnings and errors
    #[arg(long)]
    quiet: bool,
    /// Kubernetes version used for capability and deprecation checks
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// Do not validate the values against the chart's schema
    #[arg(long)]
    skip_schema_validation: bool,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let profile = args.render.compat.profile();
    let kube_version = args
        .kube_version
        .as_deref()
        .map(|version| KubeVersion::parse(version, profile));
    let options = LintOptions {
        profile,
        namespace: args.render.namespace.clone(),
        kube_version: kube_version.transpose().map_err(helm_error)?,
        skip_schema: args.skip_schema_validation,
        strict: args.strict,
        quiet: args.quiet,
    };
    let values = args.render.values.merge(profile)?;
    let host = LocalHost::new(false);
    let mut reports = Vec::new();
    for path in &args.charts {
        let source = load::lint_source(path, profile, &mut super::source::warn);
        reports.push(lint(&source, &values, &options, &host));
    }
    let (text, summary) = print(&reports, args.quiet);
    printer.text(&text)?;
    printer.text(&summary?)?;
    Ok(ExitCode::SUCCESS)
}
