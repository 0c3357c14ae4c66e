//! Finds the images of a package: in the archive of its folder, or else at their registries.

use std::path::Path;
use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_oci::{Archive, Client, Layout, Platform, Reference, SavedImage, Source};

use super::{Error, blocking};
use crate::package::Package;
use crate::scan::Scanned;

/// Images that are looked up at a time.
const PARALLEL: usize = 4;

/// The archives of images in folders, and the registries that have what they lack.
#[derive(Debug, Clone)]
struct ImageSources {
    /// The name and the content of each archive.
    archives: Vec<(String, Source)>,
    registry: Source,
}

/// The images of the list of a package, from the archives of folders and from registries. A package whose images are loaded
/// already has none.
pub(super) async fn collect(
    folders: &[(&Path, &Scanned)],
    package: &Package,
    registry: &Client,
    platforms: &[Platform],
) -> Result<Layout, Error> {
    if package.definition.images_loaded {
        return Ok(Layout::default());
    }
    let mut sources = ImageSources {
        archives: Vec::new(),
        registry: Source::Registry(registry.clone()),
    };
    for (folder, scanned) in folders {
        sources.add(folder, scanned).await?;
    }
    let images = package.definition.images.iter();
    // Findings would be fatal if one was not a reference.
    let images = images
        .filter_map(|image| image.value.parse().ok())
        .collect();
    sources.layout(images, platforms).await
}

impl ImageSources {
    /// Adds the archive of a folder, if it has one.
    async fn add(&mut self, folder: &Path, scanned: &Scanned) -> Result<(), Error> {
        let Some(archive) = &scanned.archive else {
            return Ok(());
        };
        let path = folder.join(&archive.path);
        let name = path.display().to_string();
        let what = name.clone();
        let opened = blocking(move || {
            Archive::open(&path).map_err(|source| Error::Content {
                what,
                source: Box::new(source),
            })
        });
        self.archives
            .push((name, Source::Archive(Arc::new(opened.await?))));
        Ok(())
    }

    /// The layout of these images.
    async fn layout(
        &self,
        images: Vec<Reference>,
        platforms: &[Platform],
    ) -> Result<Layout, Error> {
        let found = stream::iter(images)
            .map(|image| self.resolve(image, platforms))
            .buffered(PARALLEL)
            .try_collect::<Vec<_>>()
            .await?;
        let mut layout = Layout::default();
        for (source, image) in &found {
            layout.add(source, image);
        }
        Ok(layout)
    }

    async fn resolve(
        &self,
        image: Reference,
        platforms: &[Platform],
    ) -> Result<(Source, SavedImage), Error> {
        let failed = |source| Error::Image {
            image: image.to_string(),
            archives: self.archives.iter().map(|(name, _)| name.clone()).collect(),
            source: Box::new(source),
        };
        for (_, archive) in &self.archives {
            match archive.resolve(&image).await {
                Ok(_) => {
                    let saved = SavedImage::resolve(archive, &image, platforms).await;
                    return Ok((archive.clone(), saved.map_err(failed)?));
                }
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let saved = SavedImage::resolve(&self.registry, &image, platforms).await;
        Ok((self.registry.clone(), saved.map_err(failed)?))
    }
}
