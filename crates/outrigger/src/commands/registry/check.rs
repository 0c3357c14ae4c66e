//! `outrigger registry check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outrigger_registry::{Store, StoreOptions};

use crate::plural::counted;
use crate::printer::Printer;
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger registry check --data ./registry";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the registry
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// Rejects a folder that is not a registry, which would be created otherwise.
pub(super) fn ensure_store(data: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        data.join("blobs").is_dir() && data.join("repositories").is_dir(),
        "{} is not the folder of a registry",
        data.display()
    );
    Ok(())
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    ensure_store(&args.data)?;
    let store = Store::attach(&args.data, StoreOptions::default())?;
    let mut problems = 0_u64;
    let checked = store.check(&mut |problem| {
        problems += 1;
        note(&problem.to_string());
    })?;
    let blobs = counted(checked, "blob");
    let found = counted(problems, "problem");
    printer.line(&format!("{blobs} verified, {found}"))?;
    Ok(if problems == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
