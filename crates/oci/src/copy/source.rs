//! Where images come from: a registry or an archive.

use std::sync::Arc;

use crate::archive::Archive;
use crate::blob::Blob;
use crate::client::Client;
use crate::error::Error;
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::{Reference, Repository};
use crate::registry::Resolved;

#[derive(Debug, Clone)]
pub enum Source {
    Registry(Client),
    Archive(Arc<Archive>),
}

impl Source {
    pub async fn resolve(&self, image: &Reference) -> Result<Resolved, Error> {
        match self {
            Self::Registry(client) => client.resolve(image).await,
            Self::Archive(archive) => Ok(Resolved {
                location: image.clone(),
                manifest: archive.resolve(image)?,
            }),
        }
    }

    /// A manifest by its digest.
    pub(super) async fn manifest(
        &self,
        repository: &Repository,
        child: &Descriptor,
    ) -> Result<RawManifest, Error> {
        match self {
            Self::Registry(client) => {
                client
                    .manifest(&repository.with_digest(child.digest.clone()))
                    .await
            }
            Self::Archive(archive) => archive.manifest(&child.digest),
        }
    }

    pub(super) async fn referrers(
        &self,
        repository: &Repository,
        digest: &crate::Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        match self {
            Self::Registry(client) => client.referrers(repository, digest).await,
            Self::Archive(archive) => Ok(archive.referrers(digest)),
        }
    }

    pub fn blob(&self, repository: &Repository, blob: &Descriptor) -> Result<Blob, Error> {
        match self {
            Self::Registry(client) => Ok(Blob::remote(client, repository, blob)),
            Self::Archive(archive) => archive.blob(blob),
        }
    }

    /// Whether blobs are read fastest one after the other: a compressed archive cannot be read at any position.
    pub(super) fn is_sequential(&self) -> bool {
        matches!(self, Self::Archive(archive) if archive.is_compressed())
    }

    /// Blobs in the order in which the source has them.
    pub fn in_order<'a>(&self, mut blobs: Vec<&'a Descriptor>) -> Vec<&'a Descriptor> {
        if let Self::Archive(archive) = self {
            blobs.sort_by_key(|blob| archive.position(&blob.digest));
        }
        blobs
    }

    /// The repository that blobs can be mounted from, if source and target are the same registry.
    pub(super) fn mount<'a>(&self, to: &Repository, from: &'a Repository) -> Option<&'a str> {
        let is_same = matches!(self, Self::Registry(_))
            && to.registry() == from.registry()
            && to.path() != from.path();
        is_same.then(|| from.path())
    }
}
