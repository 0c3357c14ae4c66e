//! Copies images to a registry: from other registries and from archives.
//!
//! Two limits apply: images at a time, and blobs at a time over all images. A blob is sent to a registry once; other
//! repositories mount it from there. Manifests are pushed after what they refer to, so an interrupted copy leaves
//! nothing that is incomplete, and a repeated one sends only what is missing.

mod attached;
mod progress;
mod referrers;
mod select;
mod source;
mod stored;
mod tag_lists;
mod tree;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::stream::{self, TryStreamExt as _};
use tokio::sync::Semaphore;

use crate::client::Client;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, RawManifest};
use crate::platform::Platform;
use crate::reference::{Reference, Repository};
use crate::upload::{Mount, Transfer};

use referrers::Subject;
use stored::{Stored, ensure_replaced};
use tag_lists::TagLists;

pub use attached::Attached;
pub use progress::{Progress, Totals};
pub use source::Source;
pub use tree::Tree;

/// Manifests of one index that are looked for at a time.
const CHECKS: usize = 8;

#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// The platforms to copy; all if empty
    pub platforms: Vec<Platform>,
    /// Whether signatures and other referrers are copied, too
    pub referrers: bool,
    /// Whether the blobs of images that the target has are read and compared with their digests
    pub check_blobs: bool,
    /// Images at a time
    pub images: usize,
    /// Blobs at a time, over all images
    pub blobs: usize,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            platforms: Vec::new(),
            referrers: true,
            check_blobs: false,
            images: 4,
            blobs: 6,
        }
    }
}

/// What happened to one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub target: Reference,
    pub digest: Digest,
    /// Whether the target had the image before
    pub unchanged: bool,
    /// Whether the index of the source has signatures or other referrers, which do not apply to the chosen platforms
    pub left_signatures: bool,
}

/// An image to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    pub source: Reference,
    pub target: Reference,
}

/// Copies images to registries. Clones share limits, and what is known about the target.
#[derive(Debug, Clone)]
pub struct Copier {
    shared: Arc<Shared>,
}

/// The repository that has a blob. It is locked while the blob is sent for the first time.
type Location = Arc<tokio::sync::Mutex<Option<String>>>;

#[derive(Debug)]
struct Shared {
    target: Client,
    options: CopyOptions,
    permits: Semaphore,
    /// For each registry and blob, the repository that is known to have it
    known: Mutex<HashMap<(String, Digest), Location>>,
    /// The tags of the source
    tags: TagLists,
    progress: Arc<Progress>,
}

impl Copier {
    pub fn new(target: Client, options: CopyOptions, progress: Arc<Progress>) -> Self {
        let permits = Semaphore::new(options.blobs.max(1));
        Self {
            shared: Arc::new(Shared {
                target,
                options,
                permits,
                known: Mutex::default(),
                tags: TagLists::default(),
                progress,
            }),
        }
    }

    /// Copies images, several at a time. Each has its own result, in the order of the list.
    pub async fn copy_all(&self, source: &Source, copies: &[Copy]) -> Vec<Result<Copied, Error>> {
        let parallel = if source.is_sequential() {
            1
        } else {
            self.shared.options.images.max(1)
        };
        stream::iter(copies)
            .map(|copy| self.copy(source, copy))
            .buffered(parallel)
            .collect()
            .await
    }

    /// Copies one image. The tag of the target is written last.
    pub async fn copy(&self, source: &Source, copy: &Copy) -> Result<Copied, Error> {
        let result = Box::pin(self.copy_image(source, copy)).await;
        self.shared.progress.image_done();
        result.map_err(|error| Error::Image {
            what: copy.source.to_string(),
            source: Box::new(error),
        })
    }

    async fn copy_image(&self, source: &Source, copy: &Copy) -> Result<Copied, Error> {
        let shared = &self.shared;
        let (found, tagged) =
            tokio::try_join!(source.resolve(&copy.source), self.tagged(&copy.target))?;
        let location = &found.location;
        let repository = location.repository();
        let platforms = &shared.options.platforms;
        let whole = found.manifest.digest.clone();
        let root = source.select(repository, found.manifest, platforms);
        let root = root.await.map_err(|error| error.of(&copy.source))?;
        let target = match (&copy.target.digest(), copy.target.tag()) {
            (Some(_), None) => copy.target.repository().with_digest(root.digest.clone()),
            (_, Some(tag)) => copy.target.repository().with_tag(tag)?,
            (None, None) => copy.target.clone(),
        };
        let referrers = async {
            if !shared.options.referrers {
                return Ok(None);
            }
            let found = self.find_referrers(source, location, &root.digest).await?;
            Ok(Some(found))
        };
        let is_there = self.is_there(source, repository, &root, &target, tagged);
        let (unchanged, referrers) = tokio::try_join!(is_there, referrers)?;
        if unchanged {
            shared.progress.skip_image();
        } else {
            let tree = Tree::read(source, repository, root.clone()).await?;
            self.push_tree(source, repository, &tree, &target).await?;
        }
        if let Some((referrers, tags)) = referrers {
            let image = Subject {
                from: repository,
                root: &root,
                tags: &tags,
            };
            self.copy_referrers(source, image, referrers, target.repository())
                .await?;
        }
        let left_signatures = shared.options.referrers
            && whole != root.digest
            && source.has_attached(location, &whole).await?;
        Ok(Copied {
            target,
            digest: root.digest,
            unchanged,
            left_signatures,
        })
    }

    /// What the target has at its tag, which is known before the image is resolved.
    async fn tagged(&self, target: &Reference) -> Result<Option<Digest>, Error> {
        let Some(tag) = target.tag() else {
            return Ok(None);
        };
        let target = target.repository().with_tag(tag)?;
        self.shared.target.pushed_digest(&target).await
    }

    /// Whether the target has an image. Registries reject manifests whose blobs are missing, so the manifest is enough; of an
    /// index all manifests must be there, because some registries accept one without them.
    async fn is_there(
        &self,
        source: &Source,
        from: &Repository,
        root: &RawManifest,
        target: &Reference,
        tagged: Option<Digest>,
    ) -> Result<bool, Error> {
        let found = match target.tag() {
            Some(_) => tagged,
            None => self.shared.target.pushed_digest(target).await?,
        };
        let is_found = found.is_some_and(|found| root.is(&found));
        if !is_found || self.shared.options.check_blobs {
            return Ok(false);
        }
        let to = target.repository();
        let mut level: Vec<Descriptor> = root.parsed.children().cloned().collect();
        let mut count = 0;
        for _ in 0..tree::MAX_DEPTH {
            if level.is_empty() {
                return Ok(true);
            }
            count += level.len();
            if count > tree::MAX_MANIFESTS || !self.has_manifests(to, &level).await? {
                return Ok(false);
            }
            let mut next = Vec::new();
            for index in level.iter().filter(|child| child.is_index()) {
                let index = source.manifest(from, index).await?;
                next.extend(index.parsed.children().cloned());
            }
            level = next;
        }
        // The copy reports that it is too deep.
        Ok(false)
    }

    async fn has_manifests(&self, to: &Repository, children: &[Descriptor]) -> Result<bool, Error> {
        let checks = children.iter().map(|child| {
            let child = to.with_digest(child.digest.clone());
            async move { self.shared.target.pushed_digest(&child).await }
        });
        let mut checks = stream::iter(checks.collect::<Vec<_>>()).buffer_unordered(CHECKS);
        while let Some(found) = checks.try_next().await? {
            if found.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Pushes the blobs and manifests of an image, children first. The root gets the name of the target.
    async fn push_tree(
        &self,
        source: &Source,
        from: &Repository,
        tree: &Tree,
        target: &Reference,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let to = target.repository();
        let blobs = tree.blobs();
        shared
            .progress
            .expect(blobs.iter().map(|blob| blob.size).sum());
        let parallel = if source.is_sequential() {
            1
        } else {
            shared.options.blobs.max(1)
        };
        let ordered = source.in_order(blobs);
        stream::iter(ordered)
            .map(|blob| self.copy_blob(source, from, to, blob))
            .buffer_unordered(parallel)
            .try_collect::<()>()
            .await?;
        for child in tree.children() {
            self.push_manifest(&to.with_digest(child.digest.clone()), child)
                .await?;
        }
        self.push_manifest(target, tree.root()).await
    }

    async fn push_manifest(&self, target: &Reference, manifest: &RawManifest) -> Result<(), Error> {
        self.shared.target.push_manifest(target, manifest).await
    }

    async fn copy_blob(
        &self,
        source: &Source,
        from: &Repository,
        to: &Repository,
        blob: &Descriptor,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let entry = self.known(to.registry(), &blob.digest);
        let mount = {
            let mut known = entry.lock().await;
            match &*known {
                Some(path) if path == to.path() => {
                    shared.progress.blob_done(Transfer::Skipped, blob.size, 0);
                    return Ok(());
                }
                Some(path) => path.clone(),
                // The first task transfers the blob while others wait for it, so that it is sent once.
                None => {
                    let transfer = self
                        .transfer(source, from, to, blob, source.mount(to, from))
                        .await?;
                    tracing::trace!("{} {transfer:?}", blob.digest);
                    *known = Some(to.path().to_owned());
                    return Ok(());
                }
            }
        };
        self.transfer(source, from, to, blob, Some(mount.as_str()))
            .await
            .map(drop)
    }

    async fn transfer(
        &self,
        source: &Source,
        from: &Repository,
        to: &Repository,
        blob: &Descriptor,
        mount: Option<&str>,
    ) -> Result<Transfer, Error> {
        let shared = &self.shared;
        let _permit = shared
            .permits
            .acquire()
            .await
            .map_err(|_| Error::Canceled)?;
        let stored = self.find_stored(to, blob, mount).await?;
        let mount = match stored {
            Stored::Usable(transfer) => {
                shared.progress.blob_done(transfer, blob.size, 0);
                return Ok(transfer);
            }
            Stored::Missing(mount) => mount,
            Stored::Damaged => Mount::Never,
        };
        let content = source.blob(from, blob)?;
        let mut sent = 0;
        let mut report = |bytes: u64| {
            sent += bytes;
            shared.progress.transferred(bytes);
        };
        let result = shared.target.upload(to, content, mount, &mut report).await;
        let transfer = result.map_err(|error| Error::Transfer {
            digest: blob.digest.clone(),
            to: to.to_string(),
            source: Box::new(error),
        })?;
        if matches!(stored, Stored::Damaged) {
            ensure_replaced(&shared.target, to, blob).await?;
        }
        shared.progress.blob_done(transfer, blob.size, sent);
        Ok(transfer)
    }

    fn known(&self, registry: &str, digest: &Digest) -> Location {
        let mut known = self
            .shared
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            known
                .entry((registry.to_owned(), digest.clone()))
                .or_default(),
        )
    }
}
