//! Archives of images: `docker save` tars and OCI layouts, as tars (plain, gzip or zstd) or as folders.
//!
//! A tar is never unpacked: its headers are read once, and blobs are read at their positions. Names are only looked up,
//! never used as paths, so links, devices, `..` and absolute names in a tar do nothing.

mod docker;
mod layout;
mod metered;
mod partial;
mod reader;
mod saved;
mod tarball;
mod target;
mod write;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::blob::Blob;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::Reference;

pub(crate) use reader::{Position, Reader};
pub use saved::{Layout, LayoutFile, SavedImage};
pub use target::{Compression, InvalidTarget, SaveTarget};
pub use write::save;

/// An image of an archive, and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedImage {
    pub names: Vec<String>,
    pub digest: Digest,
}

/// An archive whose index was read.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    images: Vec<ArchivedImage>,
    /// Signatures and other referrers of the images
    attached: Vec<ArchivedImage>,
    /// Small content: manifests and configs
    small: HashMap<Digest, Arc<RawManifest>>,
    blobs: HashMap<Digest, Entry>,
    is_compressed: bool,
    position: Position,
}

/// Where the content of a blob is.
#[derive(Debug, Clone)]
enum Entry {
    /// In the tar
    At {
        start: u64,
        size: u64,
    },
    /// A file of a folder
    File(PathBuf),
    Memory(Vec<u8>),
}

impl Archive {
    /// Reads the index of an archive or an OCI layout folder. Blocks.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let metadata = fs_err::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound {
                what: path.display().to_string(),
            },
            _ => Error::io(path, error),
        })?;
        let mut archive = if metadata.is_dir() {
            layout::open_folder(path)?
        } else {
            tarball::open(path)?
        };
        archive.set_attached_aside();
        Ok(archive)
    }

    /// Tells images from what is attached to one of them.
    fn set_attached_aside(&mut self) {
        let images = std::mem::take(&mut self.images);
        let is_attached = |image: &ArchivedImage| {
            let manifest = self.small.get(&image.digest);
            let subject = manifest.and_then(|manifest| manifest.parsed.subject.as_ref());
            let subject = subject.map(|subject| subject.digest.clone());
            let subject = subject.or_else(|| signed_by(image.names.first()?));
            subject.is_some_and(|subject| self.small.contains_key(&subject))
        };
        (self.attached, self.images) = images.into_iter().partition(is_attached);
    }

    /// The images. What is attached to them is copied with them.
    pub fn images(&self) -> &[ArchivedImage] {
        &self.images
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// The manifest of an image: by its name, or by its digest. An archive with one image needs no name.
    pub(crate) fn resolve(&self, image: &Reference) -> Result<RawManifest, Error> {
        let matches = |name: &String| name.parse::<Reference>().is_ok_and(|name| name == *image);
        let mut all = self.images.iter().chain(&self.attached);
        let found = all.find(|candidate| {
            image.digest() == Some(&candidate.digest) || candidate.names.iter().any(matches)
        });
        // A layout may have the tag of a signature alone.
        let is_tag = |name: &String| image.tag() == Some(name);
        let mut attached = self.attached.iter();
        let found = found.or_else(|| attached.find(|image| image.names.iter().any(is_tag)));
        let Some(found) = found else {
            let what = format!("{image} in {}", self.path.display());
            return Err(Error::NotFound { what });
        };
        self.manifest(&found.digest)
    }

    pub(crate) fn manifest(&self, digest: &Digest) -> Result<RawManifest, Error> {
        let found = self
            .small
            .get(digest)
            .map(|manifest| RawManifest::clone(manifest));
        found.ok_or_else(|| Error::NotFound {
            what: format!("manifest {digest} in {}", self.path.display()),
        })
    }

    pub(crate) fn referrers(&self, subject: &Digest) -> Vec<Descriptor> {
        let is_referrer = |manifest: &&Arc<RawManifest>| {
            manifest
                .parsed
                .subject
                .as_ref()
                .is_some_and(|found| found.digest == *subject)
        };
        let mut found: Vec<Descriptor> = self
            .small
            .values()
            .filter(is_referrer)
            .map(|manifest| manifest.descriptor())
            .collect();
        found.sort_by(|a, b| a.digest.cmp(&b.digest));
        found
    }

    pub(crate) fn blob(&self, blob: &Descriptor) -> Result<Blob, Error> {
        match self.blobs.get(&blob.digest) {
            Some(Entry::At { size, .. }) if *size != blob.size => Err(Error::SizeMismatch {
                what: format!("blob {} in {}", blob.digest, self.path.display()),
                expected: blob.size,
                found: *size,
            }),
            Some(Entry::At { start, .. }) => Ok(Blob::archived(
                self.path.clone(),
                self.position.clone(),
                *start,
                blob,
            )),
            Some(Entry::File(path)) => Ok(Blob::archived(path.clone(), Position::raw(), 0, blob)),
            Some(Entry::Memory(bytes)) => Ok(Blob::memory(bytes.clone(), blob)),
            None => Err(Error::NotFound {
                what: format!("blob {} in {}", blob.digest, self.path.display()),
            }),
        }
    }

    /// Where a blob begins, for reading in order.
    pub(crate) fn position(&self, digest: &Digest) -> u64 {
        match self.blobs.get(digest) {
            Some(Entry::At { start, .. }) => *start,
            _ => 0,
        }
    }
}

/// The image whose signature has this name, with the tag that cosign derives from a digest.
fn signed_by(name: &str) -> Option<Digest> {
    let tag = name.rsplit([':', '/']).next()?;
    let (digest, _) = tag.rsplit_once('.')?;
    digest.replacen('-', ":", 1).parse().ok()
}

fn invalid(path: &Path, reason: impl Into<String>) -> Error {
    Error::InvalidArchive {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests;
