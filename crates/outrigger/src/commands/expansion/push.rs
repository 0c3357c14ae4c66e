//! `outrigger expansion push`: pushes a built package to a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::artifact;
use outrigger_oci::Reference;

use super::opening::writing;
use crate::commands::registry_flags::RegistryFlags;
use crate::printer::Printer;
use crate::report::hinted;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion push demo.tar.zst registry.local:5000/packages/demo:1.0.0";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Built package, or one of its chunks
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Repository and tag to push to
    #[arg(value_name = "HOST[:PORT]/PATH:TAG")]
    target: Reference,
    #[command(flatten)]
    registries: RegistryFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client(Some(args.target.registry()))?;
    let digest = writing(async |progress| {
        let pushed = artifact::push(&args.package, &args.target, &client, &progress).await;
        pushed.map_err(artifact_error)
    })?;
    printer.line(&format!("{}@{digest}", args.target))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn artifact_error(error: artifact::Error) -> anyhow::Error {
    let hint = error.hint();
    hinted(error, hint)
}
