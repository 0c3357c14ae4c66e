//! What was fetched before, on disk: contents by their digest, and what each address gave last.
//!
//! Files are written beside their place and moved there, so that a reader never sees half of one. Contents that no
//! longer fit their name are removed and count as missing. A cache that cannot be written is only a slower one.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::digest;

/// A folder, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
}

/// What an address gave last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified: Option<String>,
}

impl Cache {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The contents with this digest.
    pub(crate) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        let path = self.blob_path(digest)?;
        let bytes = fs_err::read(&path).ok()?;
        if digest::of(&bytes) == digest {
            return Some(bytes);
        }
        tracing::warn!("{} is damaged and is fetched anew", path.display());
        // Whoever finds it again comes to the same end.
        let _ = fs_err::remove_file(&path);
        None
    }

    pub(crate) fn put_blob(&self, digest: &str, bytes: &[u8]) {
        if let Some(path) = self.blob_path(digest) {
            put(&path, bytes);
        }
    }

    /// What the address with this key gave last.
    pub(crate) fn note(&self, key: &str) -> Option<Note> {
        let bytes = fs_err::read(self.note_path(key)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn put_note(&self, key: &str, note: &Note) {
        if let Some(path) = self.note_path(key) {
            put(&path, &serde_json::to_vec(note).unwrap_or_default());
        }
    }

    /// A digest from an index may hold anything; only hex digits become part of a path.
    fn blob_path(&self, digest: &str) -> Option<PathBuf> {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let folder = self.folder.as_ref().filter(|_| is_digest)?;
        Some(folder.join("sha256").join(digest))
    }

    fn note_path(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join("addresses").join(format!("{key}.json")))
    }
}

fn put(path: &Path, bytes: &[u8]) {
    if let Err(error) = try_put(path, bytes) {
        tracing::warn!("failed to keep {}: {error}", path.display());
    }
}

fn try_put(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back_and_damaged_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().to_owned()));
        let name = digest::of(b"chart");
        assert_eq!(cache.blob(&name), None);
        cache.put_blob(&name, b"chart");
        assert_eq!(cache.blob(&name).as_deref(), Some(b"chart".as_slice()));
        let path = folder.path().join("sha256").join(&name);
        fs_err::write(&path, b"chort").unwrap();
        assert_eq!(cache.blob(&name), None);
        assert!(!path.exists());
    }

    #[test]
    fn a_digest_that_is_a_path_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(Some(folder.path().join("cache")));
        fs_err::write(folder.path().join("x"), b"secret").unwrap();
        assert_eq!(cache.blob("../../x"), None);
    }

    #[test]
    fn nothing_is_kept_without_a_folder_or_with_one_that_cannot_be_made() {
        for folder in [None, Some(PathBuf::from("/proc/nowhere"))] {
            let cache = Cache::new(folder);
            let name = digest::of(b"chart");
            cache.put_blob(&name, b"chart");
            assert_eq!(cache.blob(&name), None);
        }
    }
}
