//! `outrigger expansion`: packages that extend a cluster, in their folder form.

use std::process::ExitCode;

use outrigger_expansion::Finding;

use crate::plural::counted;
use crate::printer::Printer;

mod check;
mod inspect;
mod merge_config;
mod new;

const EXAMPLES: &str = "\
Examples:
  outrigger expansion new demo                                   Write a small package to start from
  outrigger expansion check ./demo                               Report everything that is wrong with it
  outrigger expansion inspect ./demo                             Show what it contains, and where it goes
  outrigger expansion merge-config ./demo --config tke.json      Print the configuration with the package";

/// Write, check and inspect packages that extend a cluster
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Write a small package to start from
    #[command(after_help = new::EXAMPLES)]
    New(new::Args),
    /// Report everything that is wrong with a package; exits with 1 if a finding is fatal
    #[command(after_help = check::EXAMPLES)]
    Check(check::Args),
    /// Show the contents of a package, and where they go
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(inspect::Args),
    /// Print a configuration with what a package adds, and change nothing
    #[command(after_help = merge_config::EXAMPLES)]
    MergeConfig(merge_config::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::New(args) => new::run(args, printer),
        Verb::Check(args) => check::run(args, printer),
        Verb::Inspect(args) => inspect::run(args, printer),
        Verb::MergeConfig(args) => merge_config::run(args, printer),
    }
}

/// `2 fatal findings, 1 warning`, or `no findings`.
fn summary(findings: &[Finding]) -> String {
    let fatal = findings.iter().filter(|finding| finding.is_fatal()).count();
    let warnings = findings.len() - fatal;
    match (fatal, warnings) {
        (0, 0) => "no findings".to_owned(),
        (_, 0) => counted(fatal, "fatal finding"),
        (0, _) => counted(warnings, "warning"),
        _ => format!(
            "{}, {}",
            counted(fatal, "fatal finding"),
            counted(warnings, "warning")
        ),
    }
}
