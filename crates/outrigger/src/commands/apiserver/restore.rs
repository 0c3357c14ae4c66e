//! Restores a backup to a new data folder.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_store::RestoreError;

use super::backup::sentence;
use crate::printer::Printer;
use crate::report::{hinted, note};

pub(super) const EXAMPLES: &str = "\
A backup does not have the credentials of the server: the restored one makes new ones when it starts.
To keep them, copy credentials.json from the old data folder to the new one before that.

Examples:
  outrigger apiserver restore ./backup.redb --data ./new
  outrigger apiserver --data ./new --kubeconfig ./kubeconfig";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File that `apiserver backup` wrote
    backup: PathBuf,
    /// Data folder to create; if it exists, it must be empty
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let restored = outrigger_store::restore(&args.backup, &args.data).map_err(|error| {
        let is_used = matches!(error, RestoreError::NotEmpty { .. });
        hinted(error, is_used.then(|| "choose a new folder".to_owned()))
    });
    let restored =
        restored.with_context(|| format!("failed to restore {}", args.backup.display()))?;
    printer.line(&sentence("restored", restored, &args.data))?;
    note(
        "credentials are not part of a backup: without credentials.json of the old data folder, the server makes new ones,",
    );
    note("and earlier kubeconfigs and service account tokens become invalid");
    Ok(ExitCode::SUCCESS)
}
