//! Blobs and manifests on their way out. Blobs are set aside before the manifests are read again, so that one that a push refers to
//! meanwhile is put back: whatever a push finds after that is kept.

use std::path::PathBuf;

use outrigger_oci::Digest;

use super::{Store, StoreError, list, move_file, remove};

/// A blob that was set aside.
#[derive(Debug)]
pub(super) struct SetAside {
    pub(super) digest: Digest,
    pub(super) path: PathBuf,
}

impl Store {
    /// Sets a blob aside. `None` if it is gone.
    pub(super) fn set_aside(&self, digest: &Digest) -> Result<Option<SetAside>, StoreError> {
        let path = self.collected_path(digest);
        let from = self.blob_path(digest);
        if !from.exists() {
            return Ok(None);
        }
        move_file(&from, &path)?;
        let digest = digest.clone();
        Ok(Some(SetAside { digest, path }))
    }

    /// Reads a small blob that was set aside: a manifest may be among them.
    pub(super) fn read_set_aside(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.collected_path(digest);
        match fs_err::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    fn collected_path(&self, digest: &Digest) -> PathBuf {
        let name = format!("{}-{}", digest.algorithm().name(), digest.hex());
        self.path(&["collected", &name])
    }

    /// Puts a blob back, unless it was pushed again or another process put it back.
    pub(super) fn put_back(&self, aside: &SetAside) -> Result<(), StoreError> {
        let to = self.blob_path(&aside.digest);
        if to.exists() {
            return remove(&aside.path).map(drop);
        }
        match move_file(&aside.path, &to) {
            Err(_) if !aside.path.exists() => Ok(()),
            moved => moved,
        }
    }

    /// Sets a manifest of a repository aside, unless it is gone. Its tags are read again after that.
    pub(super) fn set_manifest_aside(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        let from = self.manifest_path(repository, digest);
        match move_file(&from, &self.collected_manifest_path(repository, digest)) {
            Err(_) if !from.exists() => Ok(()),
            moved => moved,
        }
    }

    /// Puts a manifest back, unless it was pushed again.
    pub(super) fn put_manifest_back(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        let aside = self.collected_manifest_path(repository, digest);
        let to = self.manifest_path(repository, digest);
        if to.exists() {
            return remove(&aside).map(drop);
        }
        match move_file(&aside, &to) {
            Err(_) if !aside.exists() => Ok(()),
            moved => moved,
        }
    }

    /// Removes a manifest that was set aside. False if it was pushed again, or is gone.
    pub(super) fn remove_manifest_aside(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<bool, StoreError> {
        let is_removed = remove(&self.collected_manifest_path(repository, digest))?;
        if !is_removed || self.manifest_path(repository, digest).exists() {
            return Ok(false);
        }
        self.forget_subject(repository, digest)?;
        self.changed();
        Ok(true)
    }

    fn collected_manifest_path(&self, repository: &str, digest: &Digest) -> PathBuf {
        let folder = self.repository(repository).join("_collected");
        folder.join(format!("{}-{}", digest.algorithm().name(), digest.hex()))
    }

    /// Puts back what a collection that was interrupted had set aside.
    pub(super) fn restore_collected(&self) -> Result<(), StoreError> {
        for repository in self.repositories()? {
            let folder = self.repository(&repository).join("_collected");
            for name in list(&folder)? {
                if let Ok(digest) = name.replacen('-', ":", 1).parse() {
                    self.put_manifest_back(&repository, &digest)?;
                }
            }
        }
        let folder = self.path(&["collected"]);
        for name in list(&folder)? {
            let path = folder.join(&name);
            match name.replacen('-', ":", 1).parse() {
                Ok(digest) => self.put_back(&SetAside { digest, path })?,
                Err(_) => {
                    remove(&path)?;
                }
            }
        }
        Ok(())
    }
}
