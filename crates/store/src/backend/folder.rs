//! The data folder: its file names, and the lock that keeps other processes out.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use super::error::OpenError;

/// Only the owner may read the files, because objects contain secrets.
const FILE_MODE: u32 = 0o600;

/// A locked folder; unlocked when dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The operating system releases the lock with the file, even if the process is killed.
    lock: fs_err::File,
}

impl Folder {
    /// Creates the folder if needed and locks it.
    pub(super) fn lock(path: &Path) -> Result<Self, OpenError> {
        let failure = |source| OpenError::Folder {
            folder: path.to_owned(),
            source,
        };
        fs_err::create_dir_all(path).map_err(failure)?;
        let lock = options()
            .truncate(false)
            .open(path.join("lock"))
            .map_err(failure)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                lock,
            }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
                folder: path.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(failure(source)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store.redb")
    }
}

impl Drop for Folder {
    /// Unlocks explicitly: a child process inherits the file between fork and exec.
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.lock.unlock();
    }
}

/// Writes a file atomically: `write` gets a temporary file, which is then renamed to `path`.
pub(super) fn write_whole<E>(
    path: &Path,
    write: impl FnOnce(fs_err::File) -> Result<(), E>,
) -> Result<Result<(), E>, io::Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    let result = write(options().truncate(true).open(&temporary)?);
    if result.is_err() {
        // The error matters more than the temporary file, which the next attempt overwrites.
        let _ = fs_err::remove_file(&temporary);
        return Ok(result);
    }
    fs_err::File::open(&temporary)?.sync_all()?;
    fs_err::rename(&temporary, path)?;
    sync_folder_of(path)?;
    Ok(result)
}

/// A rename is durable only when the folder is synced.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    fs_err::File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

fn options() -> fs_err::OpenOptions {
    let mut options = fs_err::OpenOptions::new();
    options.read(true).write(true).create(true).mode(FILE_MODE);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlocks_the_folder_while_a_child_process_still_has_its_files_open() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::lock(folder.path()).unwrap();
        assert!(matches!(
            Folder::lock(folder.path()),
            Err(OpenError::InUse { .. })
        ));
        // A child process has this between fork and exec.
        let copy = first.lock.file().try_clone().unwrap();
        drop(first);
        Folder::lock(folder.path()).unwrap();
        drop(copy);
    }
}
