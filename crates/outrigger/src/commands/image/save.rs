//! `outrigger image save`.

use std::path::PathBuf;
use std::process::ExitCode;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{SavedImage, Source, save};
use serde::Serialize;

use super::images_of::ImagesOf;
use crate::arguments::OutputFlag;
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::runtime;
use crate::commands::size::Size;
use crate::printer::{Printer, Row};
use crate::report::note;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Archive to write (.tar, .tar.gz or .tar.zst), or a folder for an OCI layout
    #[arg(long = "to", value_name = "FILE|DIR")]
    file: PathBuf,
    #[command(flatten)]
    registries: RegistryFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// An image of the archive.
#[derive(Debug, Serialize)]
struct Saved {
    image: String,
    digest: String,
    size: u64,
}

impl Row for Saved {
    const HEADERS: &'static [&'static str] = &["IMAGE", "DIGEST", "SIZE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.image.clone(),
            self.digest.chars().take(19).collect(),
            Size::from(self.size).to_string(),
        ]
    }
}

impl From<&SavedImage> for Saved {
    fn from(saved: &SavedImage) -> Self {
        Self {
            image: saved.name.to_string(),
            digest: saved.tree.root().digest.to_string(),
            size: saved.tree.blobs().iter().map(|blob| blob.size).sum(),
        }
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client()?;
    let found = args.images.find(&args.registries, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    runtime::run(async {
        let source = Source::Registry(client);
        let saved: Vec<SavedImage> = stream::iter(
            images
                .iter()
                .map(|image| SavedImage::resolve(&source, image, &[])),
        )
        .buffered(4)
        .try_collect()
        .await
        .map_err(hinted)?;
        save(&source, &saved, &args.file).await.map_err(hinted)?;
        let rows: Vec<Saved> = saved.iter().map(Saved::from).collect();
        printer.list(args.output.output, &rows)?;
        if args.file.is_file() {
            let size = fs_err::metadata(&args.file)?.len();
            note(&format!("{}, {}", args.file.display(), Size::from(size)));
        }
        Ok(ExitCode::SUCCESS)
    })
}
