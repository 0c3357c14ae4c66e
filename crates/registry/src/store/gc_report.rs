//! What a garbage collection removed, what it kept, and why. Pure counting.

use std::path::Path;

/// Counts of content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Content {
    /// Manifests of repositories
    pub manifests: u64,
    /// Files of content, those of manifests included
    pub blobs: u64,
    pub uploads: u64,
    /// Of blobs and uploads
    pub bytes: u64,
}

/// What was kept, by the reason that applies first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// A tag refers to it, by way of an index, a manifest or a subject
    pub tagged: Content,
    /// A manifest without a tag, or what only such manifests refer to
    pub untagged: Content,
    /// Nothing refers to it, but a client used it within the grace period
    pub recent: Content,
}

/// What became of the content of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// In a dry run: what would be removed
    pub removed: Content,
    pub kept: Kept,
}

impl Content {
    pub(super) fn add_blob(&mut self, path: &Path) {
        self.blobs += 1;
        self.add_bytes(path);
    }

    pub(super) fn add_upload(&mut self, data: &Path) {
        self.uploads += 1;
        self.add_bytes(data);
    }

    fn add_bytes(&mut self, path: &Path) {
        self.bytes += fs_err::metadata(path).map_or(0, |metadata| metadata.len());
    }
}
