//! Blobs: found, linked, and committed from temporary files.

use std::path::Path;

use outrigger_oci::{Algorithm, Digest};

use super::{Store, StoreError, create_folder, is_read_only, move_file, remove};

/// An open blob.
#[derive(Debug)]
pub(crate) struct BlobFile {
    pub(crate) file: std::fs::File,
    pub(crate) size: u64,
}

impl Store {
    /// Opens a blob of a repository. That renews its lease: it is not collected while a push may refer to it.
    pub(crate) fn open_blob(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<BlobFile, StoreError> {
        let unknown = || StoreError::BlobUnknown(digest.to_string());
        if !self.has_link(repository, digest) {
            return Err(unknown());
        }
        let blob = self.open_content(digest)?.ok_or_else(unknown)?;
        self.renew(&blob)?;
        Ok(blob)
    }

    /// Opens content by its digest, whichever repository has it.
    pub(super) fn open_content(&self, digest: &Digest) -> Result<Option<BlobFile>, StoreError> {
        let path = self.blob_path(digest);
        let file = match fs_err::File::open(&path) {
            Ok(file) => file.into_parts().0,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&path, error)),
        };
        let metadata = file
            .metadata()
            .map_err(|error| StoreError::io(&path, error))?;
        let size = metadata.len();
        Ok(Some(BlobFile { file, size }))
    }

    /// Reads small content.
    pub(super) fn read_content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.blob_path(digest);
        match fs_err::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io(&path, error)),
        }
    }

    /// Reads small content, whichever repository has it.
    pub(crate) fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_content(digest)
    }

    /// When content was pushed or last used, as RFC 3339; empty if it is not known.
    pub(crate) fn pushed_at(&self, digest: &Digest) -> String {
        let modified =
            fs_err::metadata(self.blob_path(digest)).and_then(|metadata| metadata.modified());
        let time = modified
            .ok()
            .and_then(|time| jiff::Timestamp::try_from(time).ok());
        time.map(|time| time.to_string()).unwrap_or_default()
    }

    /// The time of the last modification of a blob is that of its last use by a client.
    fn renew(&self, blob: &BlobFile) -> Result<(), StoreError> {
        let root = &self.shared.root;
        let failed = |error| StoreError::io(root, error);
        let modified = blob
            .file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map_err(failed)?;
        let is_recent = modified
            .elapsed()
            .is_ok_and(|age| age < self.shared.options.grace / 4);
        if is_recent {
            return Ok(());
        }
        let times = rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_OMIT,
            },
            last_modification: rustix::fs::Timespec {
                tv_sec: 0,
                tv_nsec: rustix::fs::UTIME_NOW,
            },
        };
        match rustix::fs::futimens(&blob.file, &times).map_err(std::io::Error::from) {
            // Where nothing can be written, nothing is collected.
            Err(error) if is_read_only(&error) => Ok(()),
            renewed => renewed.map_err(failed),
        }
    }

    pub(super) fn has_link(&self, repository: &str, digest: &Digest) -> bool {
        self.link_path(repository, digest).exists()
    }

    fn link_path(&self, repository: &str, digest: &Digest) -> std::path::PathBuf {
        let algorithm = digest.algorithm().name();
        self.repository(repository)
            .join("_blobs")
            .join(algorithm)
            .join(digest.hex())
    }

    /// Makes a blob part of a repository.
    pub(super) fn link(&self, repository: &str, digest: &Digest) -> Result<(), StoreError> {
        let path = self.link_path(repository, digest);
        let failed = |error| StoreError::io(&path, error);
        match fs_err::File::create(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                create_folder(path.parent().unwrap_or(&path))?;
                fs_err::File::create(&path).map(drop).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Mounts a blob from another repository, or from any if none is given. False if it does not exist there.
    pub(crate) fn mount(
        &self,
        repository: &str,
        from: Option<&str>,
        digest: &Digest,
    ) -> Result<bool, StoreError> {
        if let Some(from) = from
            && !self.has_link(from, digest)
        {
            return Ok(false);
        }
        let Some(blob) = self.open_content(digest)? else {
            return Ok(false);
        };
        self.renew(&blob)?;
        self.link(repository, digest)?;
        Ok(true)
    }

    /// Removes a blob from a repository. Its content is removed by garbage collection.
    pub(crate) fn unlink_blob(&self, repository: &str, digest: &Digest) -> Result<(), StoreError> {
        if remove(&self.link_path(repository, digest))? {
            return Ok(());
        }
        Err(StoreError::BlobUnknown(digest.to_string()))
    }

    /// Moves verified content to its place. The content is on the disk some time later; until then it is marked.
    pub(super) fn commit(&self, temporary: &Path, digest: &Digest) -> Result<(), StoreError> {
        let path = self.blob_path(digest);
        self.shared.syncer.mark(digest)?;
        move_file(temporary, &path)?;
        self.shared.syncer.sync(path, digest.clone());
        Ok(())
    }

    /// Stores small content.
    pub(super) fn put_content(
        &self,
        bytes: &[u8],
        algorithm: Algorithm,
    ) -> Result<Digest, StoreError> {
        let digest = Digest::with(algorithm, bytes);
        self.reserve(bytes.len() as u64)?;
        let temporary = self.temporary_path();
        fs_err::write(&temporary, bytes).map_err(|error| StoreError::io(&temporary, error))?;
        self.commit(&temporary, &digest)?;
        self.add_used(bytes.len() as u64);
        Ok(digest)
    }

    /// Stores a small blob in a repository.
    pub(crate) fn put_blob(&self, repository: &str, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = self.put_content(bytes, Algorithm::Sha256)?;
        self.link(repository, &digest)?;
        Ok(digest)
    }
}
