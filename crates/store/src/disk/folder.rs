//! The data folder: what its files are called, and that only one process uses it.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use super::failure::OpenError;

/// Objects hold secrets: only the owner reads the files.
const FILE_MODE: u32 = 0o600;

/// A folder that this store has for itself until it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The system releases the lock with the file, also if the process is killed.
    lock: fs_err::File,
}

impl Folder {
    /// Makes the folder if need be and takes it.
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

    /// The file with all objects.
    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store.redb")
    }
}

impl Drop for Folder {
    /// A process that is just being started by another thread has the file too, until it becomes another program.
    fn drop(&mut self) {
        // If this fails, the lock goes with the file.
        let _ = self.lock.unlock();
    }
}

/// Makes a file whole or not at all: `write` gets a new file beside `path`, which then takes the place of `path`.
pub(super) fn write_whole<E>(
    path: &Path,
    write: impl FnOnce(fs_err::File) -> Result<(), E>,
) -> Result<Result<(), E>, io::Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    let result = write(options().truncate(true).open(&temporary)?);
    if result.is_err() {
        // The failure matters more than what is left behind, which the next try overwrites.
        let _ = fs_err::remove_file(&temporary);
        return Ok(result);
    }
    fs_err::File::open(&temporary)?.sync_all()?;
    fs_err::rename(&temporary, path)?;
    sync_folder_of(path)?;
    Ok(result)
}

/// A renamed file is only there for good when its folder is on the disk.
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
    fn a_folder_is_free_though_a_new_process_still_has_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::lock(folder.path()).unwrap();
        assert!(matches!(
            Folder::lock(folder.path()),
            Err(OpenError::InUse { .. })
        ));
        // What a process has between fork and exec.
        let copy = first.lock.file().try_clone().unwrap();
        drop(first);
        Folder::lock(folder.path()).unwrap();
        drop(copy);
    }
}
