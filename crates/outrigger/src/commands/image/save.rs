//! `outrigger image save`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_chart::images::Confidence;
use outrigger_oci::{Platform, Progress, Reference, SaveTarget, SavedImage, Source, Tree, save};
use serde::Serialize;
use tokio::time::timeout;

use super::images_of::ImagesOf;
use super::progress;
use super::summary::warn_of_signatures;
use crate::arguments::OutputFlag;
use crate::commands::registry_flags::{RegistryFlags, hinted, only_one};
use crate::commands::runtime::{self, CLEAN_UP};
use crate::commands::size::Size;
use crate::plural::counted;
use crate::printer::{Printer, Row};
use crate::report::{self, UsageError, note};

const EXAMPLES: &str = "\
Examples:
  outrigger image save --chart ./chart --platform linux/amd64 --to images.tar.zst
  outrigger image save nginx:1.29 quay.io/org/web:1 --to /media/disk/images/
  outrigger image save --from-lock images.lock --to images.tar

A name that ends in .tar, .tar.gz (.tgz) or .tar.zst is an archive. A folder that exists, or a name that ends with a slash, gets an
OCI layout; the images and blobs that it has are kept.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    images: ImagesOf,
    /// Archive to write (.tar, .tar.gz or .tar.zst), or a folder for an OCI layout: one that exists, or with a / at the end
    #[arg(long = "to", value_name = "FILE|DIR/")]
    target: PathBuf,
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
    let target = args.target()?;
    let found = args
        .images
        .find(&args.registries, None, Confidence::Likely)?;
    found.check()?;
    let images = found.references();
    let server = only_one(images.iter().map(Reference::registry));
    let client = args.registries.client(server)?;
    runtime::run(async {
        let source = Source::Registry(client);
        let saved: Vec<Vec<SavedImage>> =
            stream::iter(images.iter().map(|image| args.resolve(&source, image)))
                .buffered(4)
                .try_collect()
                .await
                .map_err(hinted)?;
        let saved: Vec<SavedImage> = saved.into_iter().flatten().collect();
        write(&source, &saved, &target).await?;
        let rows: Vec<Saved> = saved.iter().filter_map(Saved::of).collect();
        printer.list(args.output.output, &rows)?;
        let path = target.path();
        match &target {
            SaveTarget::Archive(..) => {
                let size = Size::from(fs_err::metadata(path)?.len());
                note(&format!("{}, {size}", path.display()));
            }
            SaveTarget::Folder(_) => note(&format!("{}, an OCI layout", path.display())),
        }
        if !found.charts.is_empty() {
            let charts = counted(found.charts.len(), "chart");
            note(&format!(
                "without the {charts} of the plugins: `outrigger chart pull` and `outrigger chart push` carry them, `outrigger image sync --plugins` copies them, too"
            ));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Writes images. If the user interrupts it, it removes what is not complete.
async fn write(source: &Source, images: &[SavedImage], target: &SaveTarget) -> anyhow::Result<()> {
    let interrupted = runtime::shutdown_signal(None)?;
    let progress = Arc::new(Progress::default());
    let saving = save(source, images, target, &progress);
    let mut saving = Box::pin(progress::shown(&progress, None, saving));
    tokio::select! {
        result = &mut saving => result.map_err(hinted),
        () = interrupted => {
            progress.cancel();
            match timeout(CLEAN_UP, saving).await {
                // It was complete already.
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(match target {
                    SaveTarget::Archive(..) => anyhow!("interrupted; nothing was written"),
                    SaveTarget::Folder(path) => anyhow!(
                        "interrupted; a repeated command continues with what is in {}",
                        path.display()
                    ),
                }),
            }
        }
    }
}

impl Args {
    fn target(&self) -> anyhow::Result<SaveTarget> {
        let target = SaveTarget::of(&self.target).map_err(|error| {
            let hint = error.hint();
            report::hinted(UsageError(error.to_string()), Some(hint))
        })?;
        if let (SaveTarget::Archive(..), Some(folder)) = (&target, self.target.parent())
            && !folder.as_os_str().is_empty()
        {
            ensure!(
                folder.is_dir(),
                "folder {} does not exist",
                folder.display()
            );
        }
        Ok(target)
    }

    /// An image, and what is attached to it.
    async fn resolve(
        &self,
        source: &Source,
        image: &Reference,
    ) -> Result<Vec<SavedImage>, outrigger_oci::Error> {
        let resolved = async {
            let found = source.resolve(image).await?;
            let location = found.location.repository();
            let whole = found.manifest.digest.clone();
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
            if whole != root.digest && source.has_attached(&found.location, &whole).await? {
                warn_of_signatures(image);
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
