//! `outrigger image save`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{Platform, Progress, Reference, SavedImage, Source, Tree, save};
use serde::Serialize;

use super::images_of::ImagesOf;
use super::progress;
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
    /// Platform to save, such as linux/amd64; repeatable; all by default
    #[arg(long = "platform", value_name = "OS/ARCH[/VARIANT]")]
    platforms: Vec<Platform>,
    /// Do not save signatures and other referrers
    #[arg(long)]
    no_referrers: bool,
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

impl Saved {
    /// The row of an image; none for what is attached to one.
    fn of(saved: &SavedImage) -> Option<Self> {
        let name = saved.name.as_ref()?;
        Some(Self {
            image: name.to_string(),
            digest: saved.tree.root().digest.to_string(),
            size: saved.tree.blobs().iter().map(|blob| blob.size).sum(),
        })
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = args.registries.client()?;
    let found = args.images.find(&args.registries, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    runtime::run(async {
        let source = Source::Registry(client);
        let saved: Vec<Vec<SavedImage>> =
            stream::iter(images.iter().map(|image| args.resolve(&source, image)))
                .buffered(4)
                .try_collect()
                .await
                .map_err(hinted)?;
        let saved: Vec<SavedImage> = saved.into_iter().flatten().collect();
        let progress = Arc::new(Progress::default());
        let saving = save(&source, &saved, &args.file, &progress);
        let result = progress::shown(&progress, None, saving).await;
        result.map_err(hinted)?;
        let rows: Vec<Saved> = saved.iter().filter_map(Saved::of).collect();
        printer.list(args.output.output, &rows)?;
        if args.file.is_file() {
            let size = fs_err::metadata(&args.file)?.len();
            note(&format!("{}, {}", args.file.display(), Size::from(size)));
        }
        Ok(ExitCode::SUCCESS)
    })
}

impl Args {
    /// An image, and what is attached to it.
    async fn resolve(
        &self,
        source: &Source,
        image: &Reference,
    ) -> Result<Vec<SavedImage>, outrigger_oci::Error> {
        let resolved = async {
            let found = source.resolve(image).await?;
            let location = found.location.repository();
            let root = source.select(location, found.manifest, &self.platforms);
            let root = root.await?;
            let tree = Tree::read(source, location, root.clone()).await?;
            let saved = |name, tree| SavedImage {
                name,
                repository: location.clone(),
                tree,
            };
            let mut all = vec![saved(Some(image.clone()), tree)];
            if self.no_referrers {
                return Ok(all);
            }
            for attached in source.attached(&found.location, &root).await? {
                let tag = attached.tag.as_deref();
                let name = tag.map(|tag| image.repository().with_tag(tag));
                all.push(saved(name.transpose()?, attached.tree));
            }
            Ok(all)
        };
        let resolved: Result<_, outrigger_oci::Error> = resolved.await;
        resolved.map_err(|error| outrigger_oci::Error::Image {
            what: image.to_string(),
            source: Box::new(error),
        })
    }
}
