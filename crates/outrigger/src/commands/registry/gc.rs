//! `outrigger registry gc`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use outrigger_registry::{Collected, GcOptions, Store, StoreOptions};
use serde::Serialize;

use crate::arguments::OutputFlag;
use crate::commands::size::Size;
use crate::printer::{Printer, Row};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder of the registry
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Also remove manifests that no tag reaches
    #[arg(long)]
    untagged: bool,
    /// Only report what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Keep what was used within this time; a push that takes longer may have to be repeated
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    grace: u64,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Serialize)]
struct Summary {
    manifests: u64,
    blobs: u64,
    uploads: u64,
    bytes: u64,
}

impl From<Collected> for Summary {
    fn from(collected: Collected) -> Self {
        Self {
            manifests: collected.manifests,
            blobs: collected.blobs,
            uploads: collected.uploads,
            bytes: collected.bytes,
        }
    }
}

impl Row for Summary {
    const HEADERS: &'static [&'static str] = &["MANIFESTS", "BLOBS", "UPLOADS", "SIZE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.manifests.to_string(),
            self.blobs.to_string(),
            self.uploads.to_string(),
            Size::from(self.bytes).to_string(),
        ]
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    super::check::ensure_store(&args.data)?;
    let store = Store::attach(&args.data, StoreOptions::default())?;
    let collected = store.collect(GcOptions {
        dry_run: args.dry_run,
        untagged: args.untagged,
        grace: Some(Duration::from_secs(args.grace)),
    })?;
    printer.object(args.output.output, &Summary::from(collected))?;
    Ok(ExitCode::SUCCESS)
}
