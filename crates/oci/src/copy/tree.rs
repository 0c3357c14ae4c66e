//! The manifests of an image: one, or an index with those of its platforms.

use std::collections::HashSet;

use super::source::Source;
use crate::error::Error;
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::Repository;

/// Levels of nested indexes. An index cannot contain itself, because its digest would have to be part of its content.
pub(super) const MAX_DEPTH: usize = 8;

/// Manifests of one image.
pub(super) const MAX_MANIFESTS: usize = 1000;

/// Bytes of all manifests of one image.
const MAX_BYTES: u64 = 16 << 20;

/// The manifests of an image in the order in which they are pushed: the root is last.
#[derive(Debug, Clone)]
pub struct Tree {
    manifests: Vec<RawManifest>,
    root: RawManifest,
}

impl Tree {
    /// Reads all manifests below a root.
    pub async fn read(
        source: &Source,
        repository: &Repository,
        root: RawManifest,
    ) -> Result<Self, Error> {
        let mut manifests = Vec::new();
        let mut seen = HashSet::from([root.digest.clone()]);
        let mut bytes = root.bytes.len() as u64;
        let mut level = vec![root.clone()];
        for depth in 0.. {
            let next: Vec<Descriptor> = level
                .iter()
                .flat_map(|manifest| manifest.parsed.children().cloned())
                .collect();
            let next: Vec<Descriptor> = next
                .into_iter()
                .filter(|child| seen.insert(child.digest.clone()))
                .collect();
            if depth > 0 {
                manifests.append(&mut level);
            }
            if next.is_empty() {
                break;
            }
            let what = || repository.to_string();
            if depth == MAX_DEPTH {
                return Err(Error::TooDeep {
                    what: what(),
                    limit: MAX_DEPTH,
                });
            }
            if manifests.len() + next.len() > MAX_MANIFESTS {
                return Err(Error::TooManyManifests {
                    what: what(),
                    limit: MAX_MANIFESTS,
                });
            }
            let sizes = next.iter().map(|child| child.size);
            bytes = sizes.fold(bytes, u64::saturating_add);
            if bytes > MAX_BYTES {
                return Err(Error::ManifestsTooLarge {
                    what: what(),
                    limit: MAX_BYTES,
                });
            }
            level = read_level(source, repository, &next).await?;
        }
        manifests.reverse();
        Ok(Self { manifests, root })
    }

    pub fn root(&self) -> &RawManifest {
        &self.root
    }

    /// All manifests but the root, children first.
    pub fn children(&self) -> impl Iterator<Item = &RawManifest> {
        self.manifests.iter()
    }

    /// All blobs, each once. Layers that registries do not have are left out.
    pub fn blobs(&self) -> Vec<&Descriptor> {
        let mut seen = HashSet::new();
        let all = self
            .manifests
            .iter()
            .chain([&self.root])
            .flat_map(|manifest| manifest.parsed.blobs());
        all.filter(|blob| !blob.is_foreign() && seen.insert(&blob.digest))
            .collect()
    }
}

async fn read_level(
    source: &Source,
    repository: &Repository,
    children: &[Descriptor],
) -> Result<Vec<RawManifest>, Error> {
    use futures::stream::{self, StreamExt as _, TryStreamExt as _};
    let read = |child: &Descriptor| {
        let child = child.clone();
        async move {
            let manifest = source.manifest(repository, &child).await?;
            let found = manifest.bytes.len() as u64;
            if found != child.size {
                let (what, expected) = (format!("manifest {}", child.digest), child.size);
                return Err(Error::SizeMismatch {
                    what,
                    expected,
                    found,
                });
            }
            Ok(manifest)
        }
    };
    stream::iter(children.iter().map(read).collect::<Vec<_>>())
        .buffered(4)
        .try_collect()
        .await
}
