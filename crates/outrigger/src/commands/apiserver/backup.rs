//! A copy of all objects in one file, which put into an empty folder as `store.redb` is a store.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::DataFlag;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataFlag,
    /// The file to write, which must not exist
    file: PathBuf,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let store = args.data.open()?;
    let revision = store
        .backup(&args.file)
        .context("failed to write the backup")?;
    printer.line(&format!("revision {revision}"))?;
    Ok(ExitCode::SUCCESS)
}
