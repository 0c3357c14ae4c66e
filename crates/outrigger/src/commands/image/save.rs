//! `outrigger image save`.

use std::path::PathBuf;
use std::process::ExitCode;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_oci::{Reference, SavedImage, Source, Tree, save};

use super::images_of::ImagesOf;
use crate::commands::registry_flags::{RegistryFlags, hinted};
use crate::commands::runtime;
use crate::commands::size::Size;
use crate::printer::Printer;
use crate::report::note;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Archive to write (.tar, .tar.gz or .tar.zst), or a folder for an OCI layout
    #[arg(short = 'O', long = "output", value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    registries: RegistryFlags,
}

pub(super) fn run(args: &Args, _printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client()?;
    let images = args.images.references()?;
    runtime::run(async {
        let source = Source::Registry(client);
        let saved: Vec<SavedImage> =
            stream::iter(images.iter().map(|image| resolve(&source, image)))
                .buffered(4)
                .try_collect()
                .await
                .map_err(hinted)?;
        save(&source, &saved, &args.file).await.map_err(hinted)?;
        let size = fs_err::metadata(&args.file)?.len();
        note(&format!("{} images, {}", saved.len(), Size::from(size)));
        Ok(ExitCode::SUCCESS)
    })
}

async fn resolve(source: &Source, image: &Reference) -> Result<SavedImage, outrigger_oci::Error> {
    let found = source.resolve(image).await?;
    let repository = found.location.repository().clone();
    let tree = Tree::read(source, &repository, found.manifest).await?;
    Ok(SavedImage {
        name: image.clone(),
        repository,
        tree,
    })
}
