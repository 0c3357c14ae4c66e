//! The data folder: its file names, and the lock that keeps other processes out.

use std::fs::{Permissions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::error::OpenError;
use super::reserve::{RESERVED_BYTES, Reserve};

/// Only the owner may access the folder and its files, because objects contain secrets.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The mode of a folder that users share, such as that for temporary files.
const STICKY: u32 = 0o1000;

/// The names of the files in the folder.
const STORE: &str = "store.redb";
const LOCK: &str = "lock";
const RESERVE: &str = "reserve";

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
        if path.is_file() {
            let text = "a file is in its place";
            return Err(failure(io::Error::new(io::ErrorKind::NotADirectory, text)));
        }
        make_private(path).map_err(failure)?;
        let lock = options()
            .create(true)
            .truncate(false)
            .open(path.join(LOCK))
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
        self.path.join(STORE)
    }
}

/// Whether a server has used the folder.
pub(super) fn has_store(path: &Path) -> bool {
    path.join(STORE).exists()
}

/// Whether the folder has no files, or does not exist.
pub(super) fn is_empty(path: &Path) -> bool {
    match fs_err::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Removes the files of a store.
pub(super) fn remove_files(path: &Path) -> io::Result<()> {
    for name in [STORE, RESERVE, LOCK] {
        match fs_err::remove_file(path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// A file whose blocks are allocated.
impl Reserve for Folder {
    fn allocate(&self) -> io::Result<()> {
        let path = self.path.join(RESERVE);
        let file = options().create(true).truncate(false).open(&path)?;
        if file.metadata()?.len() == RESERVED_BYTES {
            return Ok(());
        }
        let allocated = allocate(file.file());
        if allocated.is_err() {
            // Part of it may be allocated.
            let _ = fs_err::remove_file(&path);
        }
        allocated
    }

    fn release(&self) -> io::Result<()> {
        fs_err::remove_file(self.path.join(RESERVE))
    }
}

fn allocate(mut file: &std::fs::File) -> io::Result<()> {
    let flags = rustix::fs::FallocateFlags::empty();
    match rustix::fs::fallocate(file, flags, 0, RESERVED_BYTES) {
        // Not all file systems can allocate without a write.
        Err(rustix::io::Errno::OPNOTSUPP) => {
            io::copy(&mut io::repeat(0).take(RESERVED_BYTES), &mut file)?;
            file.sync_all()
        }
        allocated => Ok(allocated?),
    }
}

impl Drop for Folder {
    /// Unlocks explicitly: a child process inherits the file between fork and exec.
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.lock.unlock();
    }
}

/// Creates a folder for its owner only. One that exists is made private if it is ours: empty, or with a store.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(path)?;
    let mode = fs_err::metadata(path)?.permissions().mode();
    if mode & 0o7777 == FOLDER_MODE {
        return Ok(());
    }
    if !is_ours(path)? || mode & STICKY != 0 {
        let why = "it is accessible to other users and has other files; use a folder of its own, with mode 0700";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    fs_err::set_permissions(path, Permissions::from_mode(FOLDER_MODE))?;
    for entry in fs_err::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs_err::set_permissions(entry.path(), Permissions::from_mode(FILE_MODE))?;
        }
    }
    Ok(())
}

fn is_ours(path: &Path) -> io::Result<bool> {
    let mut is_empty = true;
    for entry in fs_err::read_dir(path)? {
        let name = entry?.file_name();
        if name == LOCK || name.to_string_lossy().starts_with(STORE) {
            return Ok(true);
        }
        is_empty = false;
    }
    Ok(is_empty)
}

/// Writes a file atomically: `write` gets a temporary file, which is then renamed to `path`.
pub(super) fn write_whole<E>(
    path: &Path,
    write: impl FnOnce(fs_err::File) -> Result<(), E>,
) -> Result<Result<(), E>, io::Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let temporary = path.with_file_name(name);
    // What an earlier attempt left, or another user has put there, is not written to.
    match fs_err::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let result = write(options().create_new(true).open(&temporary)?);
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
    options.read(true).write(true).mode(FILE_MODE);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs_err::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_folder_and_its_files_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let folder = Folder::lock(&path).unwrap();
        assert_eq!((mode(&path), mode(&path.join("lock"))), (0o700, 0o600));
        drop(folder);
        // As an older version left it.
        fs_err::write(path.join(STORE), "").unwrap();
        for (path, mode) in [(path.clone(), 0o755), (path.join(STORE), 0o644)] {
            fs_err::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        drop(Folder::lock(&path).unwrap());
        assert_eq!((mode(&path), mode(&path.join(STORE))), (0o700, 0o600));
    }

    #[test]
    fn the_reserve_occupies_the_disk_until_it_is_released() {
        use std::os::unix::fs::MetadataExt as _;
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::lock(&parent.path().join("data")).unwrap();
        let path = folder.path().join(RESERVE);
        for _ in 0..2 {
            folder.allocate().unwrap();
            folder.allocate().unwrap();
            let metadata = fs_err::metadata(&path).unwrap();
            assert!(metadata.blocks() * 512 >= RESERVED_BYTES);
            folder.release().unwrap();
            assert!(!path.exists());
        }
    }

    #[test]
    fn rejects_a_folder_that_others_use() {
        let folder = tempfile::tempdir().unwrap();
        let shared = |mode| fs_err::set_permissions(folder.path(), Permissions::from_mode(mode));
        shared(0o1777).unwrap();
        assert!(matches!(
            Folder::lock(folder.path()),
            Err(OpenError::Folder { .. })
        ));
        shared(0o755).unwrap();
        fs_err::write(folder.path().join("letter.txt"), "").unwrap();
        assert!(matches!(
            Folder::lock(folder.path()),
            Err(OpenError::Folder { .. })
        ));
        assert_eq!(mode(folder.path()), 0o755);
    }

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
