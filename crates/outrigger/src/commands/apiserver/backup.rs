//! Copies all objects to one file. To restore it, move the file into an empty data folder as `store.redb`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::DataFlag;
use crate::printer::Printer;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataFlag,
    /// File to write, which must not exist
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
