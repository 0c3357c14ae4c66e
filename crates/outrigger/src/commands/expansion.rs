//! `outrigger expansion`: packages that extend a cluster, as folders and built.

use std::process::ExitCode;

use outrigger_expansion::Finding;

use crate::plural::counted;
use crate::printer::Printer;

mod build;
mod check;
mod diff;
mod extract;
mod inspect;
mod keygen;
mod merge;
mod merge_config;
mod new;
pub(super) mod opening;
mod pull;
mod push;
pub(super) mod sign;
mod verify;

const EXAMPLES: &str = "\
Examples:
  outrigger expansion new demo                                   Write a small package to start from
  outrigger expansion check ./demo                               Report everything that is wrong with it
  outrigger expansion build ./demo --to demo.tar.zst             Write one file with everything, images included
  outrigger expansion sign --key demo.key demo.tar.zst           Sign it
  outrigger expansion verify demo.tar.zst --trusted-key demo.pub Check who signed it, and every byte
  outrigger expansion inspect ./demo                             Show what it contains, and where it goes
  outrigger expansion merge-config ./demo --config tke.json      Print the configuration with the package";

/// Write, check, build and sign packages that extend a cluster
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Write a package with everything that it needs to one file
    #[command(after_help = build::EXAMPLES)]
    Build(Box<build::Args>),
    /// Show what changed between two built packages
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::Args),
    /// Make a folder of a built package
    #[command(after_help = extract::EXAMPLES)]
    Extract(extract::Args),
    /// Make a pair of keys for signing packages
    #[command(after_help = keygen::EXAMPLES)]
    Keygen(keygen::Args),
    /// Make one package of two
    #[command(after_help = merge::EXAMPLES)]
    Merge(Box<merge::Args>),
    /// Pull a built package from a registry
    #[command(after_help = pull::EXAMPLES)]
    Pull(pull::Args),
    /// Push a built package to a registry
    #[command(after_help = push::EXAMPLES)]
    Push(push::Args),
    /// Sign a built package
    #[command(after_help = sign::EXAMPLES)]
    Sign(sign::Args),
    /// Check who signed a built package, and every byte of it
    #[command(after_help = verify::EXAMPLES)]
    Verify(verify::Args),
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
        Verb::Build(args) => build::run(args, printer),
        Verb::Diff(args) => diff::run(args, printer),
        Verb::Extract(args) => extract::run(args, printer),
        Verb::Keygen(args) => keygen::run(args, printer),
        Verb::Merge(args) => merge::run(args, printer),
        Verb::Pull(args) => pull::run(args, printer),
        Verb::Push(args) => push::run(args, printer),
        Verb::Sign(args) => sign::run(args, printer),
        Verb::Verify(args) => verify::run(args, printer),
        Verb::New(args) => new::run(args, printer),
        Verb::Check(args) => check::run(args, printer),
        Verb::Inspect(args) => inspect::run(args, printer),
        Verb::MergeConfig(args) => merge_config::run(args, printer),
    }
}

/// `2 fatal findings, 1 warning`, or `no findings`.
pub(super) fn summary(findings: &[Finding]) -> String {
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
