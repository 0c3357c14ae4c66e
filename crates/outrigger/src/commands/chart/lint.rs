//! `outrigger chart lint`: mistakes in a chart, found as Helm finds them.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_chart::lint::{LintOptions, lint, print};
use outrigger_chart::{KubeVersion, load};

use super::host::LocalHost;
use super::source::{CompatFlag, plainly};
use super::values::ValuesFlags;
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
    /// Namespace of the release
    #[arg(short, long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    values: ValuesFlags,
    #[command(flatten)]
    compat: CompatFlag,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Print warnings and errors only
    #[arg(long)]
    quiet: bool,
    /// Kubernetes version that the chart sees
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// Do not check the values against the chart's schema
    #[arg(long)]
    skip_schema_validation: bool,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let profile = args.compat.profile();
    let kube_version = args
        .kube_version
        .as_deref()
        .map(|version| KubeVersion::parse(version, profile));
    let options = LintOptions {
        profile,
        namespace: args.namespace.clone(),
        kube_version: kube_version.transpose().map_err(plainly)?,
        skip_schema: args.skip_schema_validation,
        strict: args.strict,
        quiet: args.quiet,
    };
    let values = args.values.merge(profile)?;
    let host = LocalHost::new(false);
    let mut reports = Vec::new();
    for path in &args.charts {
        let source = load::lint_source(path, profile, &mut super::source::warn);
        reports.push(lint(&source, &values, &options, &host));
    }
    let (text, summary) = print(&reports, args.quiet);
    printer.bytes(text.as_bytes())?;
    match summary {
        Ok(summary) => printer.bytes(summary.as_bytes())?,
        Err(summary) => anyhow::bail!(summary),
    }
    Ok(ExitCode::SUCCESS)
}
