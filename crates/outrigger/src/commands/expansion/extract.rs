//! `outrigger expansion extract`: makes a folder of a built package.

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_expansion::{ExtractError, extract};

use super::opening::{BaseFlag, archive_error, reader, writing};
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger expansion extract demo.tar.zst --to demo
  outrigger expansion extract demo-1.1.0.tar.zst --base demo-1.0.0.tar.zst --to demo";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Built package, or one of its chunks
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    #[command(flatten)]
    base: BaseFlag,
    /// Folder to write; it must not exist
    #[arg(long = "to", value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (path, base, folder) = (args.package.clone(), args.base.clone(), args.folder.clone());
    let title = writing(async |progress| {
        let extracting = tokio::task::spawn_blocking(move || {
            let package = reader(&path, &progress)?;
            let base = base.reader(&progress)?;
            let title = package.root().title();
            match extract(package, base, &folder) {
                Ok(()) => Ok(title),
                Err(ExtractError::Archive(error)) => Err(archive_error(error)),
                Err(error) => Err(error.into()),
            }
        });
        extracting.await?
    })?;
    printer.line(&format!(
        "package {title} extracted to {}",
        args.folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
