//! `outrigger registry check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outrigger_registry::{Store, StoreOptions};

use crate::plural::counted;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger registry check --data ./registry
  outrigger registry check --data ./registry --repair

Without --repair, `outrigger image sync --check-blobs` sends what is damaged again while the registry serves.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the registry
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Remove what is damaged, with the manifests and tags that need it, so that the next push sends it again; the registry must
    /// not be served meanwhile
    #[arg(long)]
    repair: bool,
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
    let options = StoreOptions::default();
    let store = if args.repair {
        Store::open(&args.data, options).hint(
            "stop it, or send what is damaged again with `outrigger image sync --check-blobs`",
        )?
    } else {
        Store::attach(&args.data, options)?
    };
    let mut problems = Vec::new();
    let checked = store.check(&mut |problem| {
        note(&problem.to_string());
        problems.push(problem);
    })?;
    let blobs = counted(checked, "blob");
    let found = counted(problems.len(), "problem");
    if problems.is_empty() {
        printer.line(&format!("{blobs} verified, {found}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.repair {
        store.repair(&problems)?;
        printer.line(&format!(
            "{blobs} verified, {found}, what is damaged was removed"
        ))?;
        note("push the images again, such as with `outrigger image sync`");
        return Ok(ExitCode::SUCCESS);
    }
    printer.line(&format!("{blobs} verified, {found}"))?;
    note(
        "hint: `outrigger image sync|copy|load --check-blobs` sends what is damaged again; --repair removes it, so that the next push does",
    );
    Ok(ExitCode::FAILURE)
}
