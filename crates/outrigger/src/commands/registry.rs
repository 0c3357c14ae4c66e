//! `outrigger registry`: an OCI registry and chart repository in one folder.

use std::process::ExitCode;

use crate::printer::Printer;

mod check;
mod gc;
mod serve;

const EXAMPLES: &str = "\
Examples:
  outrigger registry serve --data ./registry --listen 127.0.0.1:5000
  outrigger registry gc --data ./registry --dry-run
  outrigger registry check --data ./registry";

/// Run an OCI registry and chart repository
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Verb {
    /// Serve a registry and its charts
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::Args),
    /// Remove blobs that no manifest refers to; may run while the registry serves
    #[command(after_help = gc::EXAMPLES)]
    Gc(gc::Args),
    /// Verify the digests of all content
    #[command(after_help = check::EXAMPLES)]
    Check(check::Args),
}

pub(crate) fn run(verb: &Verb, printer: &Printer) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Serve(args) => serve::run(args, printer),
        Verb::Gc(args) => gc::run(args, printer),
        Verb::Check(args) => check::run(args, printer),
    }
}
