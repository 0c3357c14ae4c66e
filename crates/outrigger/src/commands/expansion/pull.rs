//! `outrigger expansion pull`: pulls a built package from a registry.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::artifact;
use outrigger_oci::Reference;

use super::opening::writing;
use super::push::artifact_error;
use crate::commands::registry_flags::RegistryFlags;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion pull registry.local:5000/packages/demo:1.0.0 --to demo.tar.zst
  outrigger expansion verify demo.tar.zst --trusted-key demo.pub";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Repository with the tag or digest of a package
    #[arg(value_name = "HOST[:PORT]/PATH:TAG")]
    source: Reference,
    /// File to write; the names of chunks are followed by .001, .002 and so on
    #[arg(long = "to", value_name = "FILE")]
    target: PathBuf,
    #[command(flatten)]
    registries: RegistryFlags,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client(Some(args.source.registry()))?;
    let files = writing(async |progress| {
        let pulled = artifact::pull(&args.source, &args.target, &client, &progress).await;
        pulled.map_err(artifact_error)
    })?;
    for file in files {
        printer.line(&file.display().to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
