//! The cache on disk: blobs by their digest, and the last response of each URL.
//!
//! Files are written to a temporary file and renamed, so that a reader never sees a partial file. Corrupt blobs are
//! removed. Errors of the cache are logged and otherwise ignored.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest;

/// A disabled cache has no directory.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    directory: Option<PathBuf>,
}

/// The last response of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CacheEntry {
    pub(crate) digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified: Option<String>,
}

impl Cache {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// The blob with this digest.
    pub(crate) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        let path = self.blob_path(digest)?;
        let bytes = fs_err::read(&path).ok()?;
        if digest::of(&bytes) == digest {
            return Some(bytes);
        }
        tracing::warn!("removing corrupt file {} from the cache", path.display());
        // If it cannot be removed, the next read detects the corruption again.
        let _ = fs_err::remove_file(&path);
        None
    }

    pub(crate) fn put_blob(&self, digest: &str, bytes: &[u8]) {
        if let Some(path) = self.blob_path(digest) {
            put(&path, bytes);
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<CacheEntry> {
        let bytes = fs_err::read(self.entry_path(key)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn put_entry(&self, key: &str, entry: &CacheEntry) {
        if let Some(path) = self.entry_path(key) {
            put(&path, &serde_json::to_vec(entry).unwrap_or_default());
        }
    }

    /// An index may contain an arbitrary string as digest; only hex digits become part of a path.
    fn blob_path(&self, digest: &str) -> Option<PathBuf> {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let directory = self.directory.as_ref().filter(|_| is_digest)?;
        Some(directory.join("sha256").join(digest))
    }

    fn entry_path(&self, key: &str) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.join("addresses").join(format!("{key}.json")))
    }
}

fn put(path: &Path, bytes: &[u8]) {
    if let Err(error) = try_put(path, bytes) {
        tracing::warn!("failed to write {} to the cache: {error}", path.display());
    }
}

fn try_put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_blobs_and_removes_corrupt_ones() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(directory.path().to_owned()));
        let name = digest::of(b"chart");
        assert_eq!(cache.blob(&name), None);
        cache.put_blob(&name, b"chart");
        assert_eq!(cache.blob(&name).as_deref(), Some(b"chart".as_slice()));
        let path = directory.path().join("sha256").join(&name);
        fs_err::write(&path, b"chort").unwrap();
        assert_eq!(cache.blob(&name), None);
        assert!(!path.exists());
    }

    #[test]
    fn ignores_a_digest_that_is_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(directory.path().join("cache")));
        fs_err::write(directory.path().join("x"), b"secret").unwrap();
        assert_eq!(cache.blob("../../x"), None);
    }

    #[test]
    fn works_without_a_directory_and_with_one_that_cannot_be_created() {
        for directory in [None, Some(PathBuf::from("/proc/nowhere"))] {
            let cache = Cache::new(directory);
            let name = digest::of(b"chart");
            cache.put_blob(&name, b"chart");
            assert_eq!(cache.blob(&name), None);
        }
    }
}
