//! The folder of a registry. Content is stored once, by digest; repositories link to it.
//!
//! ```text
//! blobs/sha256/ab/ab12…                     content, also of manifests
//! repositories/NAME/_blobs/sha256/ab12…     the repository may serve this blob
//! repositories/NAME/_manifests/sha256/ab12… the repository has this manifest; the file has its media type
//! repositories/NAME/_tags/TAG               the digest of a tag
//! repositories/NAME/_referrers/SUBJECT/…    descriptors of manifests with that subject
//! uploads/ID/                               unfinished uploads
//! unsynced/                                 blobs that may not have reached the disk; verified after a crash
//! collected/                                blobs that garbage collection is about to remove
//! ```
//!
//! Everything blocks: callers run it on threads for that.

mod blobs;
mod collect;
mod collected;
mod gc_report;
mod import;
mod manifests;
mod repair;
mod sync;
mod upload;

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outrigger_oci::{Digest, InvalidManifest};

pub use collect::GcOptions;
pub use gc_report::{Collected, Content, Kept};
pub use import::{BlobImport, ChartImport};
pub use repair::Problem;
use sync::Syncer;
pub(crate) use upload::{Upload, Uploads};

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The most bytes of all blobs and uploads together
    pub quota: Option<u64>,
    /// How long a blob that no manifest references is kept, so that a push can finish
    pub grace: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            quota: None,
            grace: Duration::from_hours(1),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("blob {0} is unknown")]
    BlobUnknown(String),
    #[error("manifest {0} is unknown")]
    ManifestUnknown(String),
    #[error("repository {0} is unknown")]
    NameUnknown(String),
    #[error("the upload is unknown")]
    UploadUnknown,
    #[error("the upload is in use by another request")]
    UploadBusy,
    #[error("the content has digest {found}, but {expected} was announced")]
    DigestInvalid { expected: String, found: String },
    #[error("the manifest is invalid: {0}")]
    ManifestInvalid(String),
    #[error("the manifest refers to {0}, which the repository does not have")]
    ManifestBlobUnknown(String),
    #[error(
        "{needed} bytes do not fit: {used} of the {quota} bytes of the registry's quota are used"
    )]
    Quota { needed: u64, used: u64, quota: u64 },
    #[error("the disk of the registry is full")]
    Full,
    #[error("the content is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error(
        "the index of all charts would have more than {limit} bytes; delete versions that are not used"
    )]
    IndexTooLarge { limit: u64 },
    #[error("{} has other files, and is not the folder of a registry; use a new or an empty one", .0.display())]
    Foreign(PathBuf),
    #[error("{path} is served by another process", path = .0.display())]
    InUse(PathBuf),
    #[error("the file system of {path} does not distinguish upper and lower case, so one tag would replace another", path = .0.display())]
    IgnoresCase(PathBuf),
    #[error("the operation was canceled")]
    Canceled,
    #[error("failed to access {path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl StoreError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge => Self::Full,
            _ => Self::Io {
                path: path.to_owned(),
                source,
            },
        }
    }
}

impl From<InvalidManifest> for StoreError {
    fn from(error: InvalidManifest) -> Self {
        Self::ManifestInvalid(error.to_string())
    }
}

/// A store. Clones share its state.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    options: StoreOptions,
    /// The bytes of all blobs and uploads
    used: AtomicU64,
    /// Incremented by each change of a tag or manifest, so that what is derived from them can be cached
    generation: AtomicU64,
    temporary: AtomicU64,
    syncer: Syncer,
    uploads: Uploads,
    /// Held by the process that serves the store
    _lock: Option<std::fs::File>,
}

const FOLDERS: &[&str] = &["blobs", "repositories", "uploads", "unsynced", "temporary"];

impl Store {
    /// Opens a store to serve it, which one process does at a time. Blobs that a crash may have damaged are verified.
    pub fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        ensure_own(root)?;
        create_folder(root)?;
        let lock = lock(root)?;
        let store = Self::with(root, options, Some(lock))?;
        store.check_case()?;
        store.restore_collected()?;
        store.verify_unsynced()?;
        store.clear_temporary()?;
        store.measure()?;
        Ok(store)
    }

    /// Opens a store that another process may serve, for garbage collection and checks.
    pub fn attach(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        Self::with(root, options, None)
    }

    fn with(
        root: &Path,
        options: StoreOptions,
        lock: Option<std::fs::File>,
    ) -> Result<Self, StoreError> {
        for folder in FOLDERS {
            create_folder(&root.join(folder))?;
        }
        Ok(Self {
            shared: Arc::new(Shared {
                root: root.to_owned(),
                options,
                used: AtomicU64::new(0),
                generation: AtomicU64::new(0),
                temporary: AtomicU64::new(0),
                syncer: Syncer::start(root.join("unsynced")),
                uploads: Uploads::default(),
                _lock: lock,
            }),
        })
    }

    /// Waits until all blobs are on the disk.
    pub fn flush(&self) {
        self.shared.syncer.flush();
    }

    /// A number that changes with each tag and manifest.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.shared.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn path(&self, parts: &[&str]) -> PathBuf {
        let mut path = self.shared.root.clone();
        path.extend(parts);
        path
    }

    /// The folder of a repository. Names are valid repository paths, so they cannot leave the store.
    fn repository(&self, name: &str) -> PathBuf {
        self.path(&["repositories", name])
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.path(&["blobs", digest.algorithm().name(), &hex[..2], hex])
    }

    /// Whether the store has room for more bytes. What other processes removed is measured again first.
    pub(crate) fn reserve(&self, needed: u64) -> Result<(), StoreError> {
        if self.fits(needed) {
            return Ok(());
        }
        self.measure()?;
        match self.shared.options.quota {
            Some(quota) if !self.fits(needed) => Err(StoreError::Quota {
                needed,
                used: self.shared.used.load(Ordering::Relaxed),
                quota,
            }),
            _ => Ok(()),
        }
    }

    /// Reserves as much as `wanted`, but no less than `needed`, and returns how much that is.
    fn reserve_up_to(&self, wanted: u64, needed: u64) -> Result<u64, StoreError> {
        if self.fits(wanted) {
            return Ok(wanted);
        }
        self.reserve(needed)?;
        Ok(needed)
    }

    /// Whether there is room for more bytes, as far as this process knows.
    fn fits(&self, bytes: u64) -> bool {
        let used = self.shared.used.load(Ordering::Relaxed);
        let quota = self.shared.options.quota;
        quota.is_none_or(|quota| used.saturating_add(bytes) <= quota)
    }

    fn add_used(&self, bytes: u64) {
        self.shared.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn measure(&self) -> Result<(), StoreError> {
        if self.shared.options.quota.is_none() {
            return Ok(());
        }
        let mut used = 0;
        for folder in ["blobs", "uploads"] {
            walk(&self.path(&[folder]), &mut |_, metadata| {
                used += metadata.len();
            })?;
        }
        self.shared.used.store(used, Ordering::Relaxed);
        Ok(())
    }

    /// Tags may differ by case alone, as `v1.0-RC` and `v1.0-rc` do.
    fn check_case(&self) -> Result<(), StoreError> {
        let folder = self.path(&["temporary"]);
        let name = format!("CASE-{}", std::process::id());
        match distinguishes_case(&folder, &name) {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::IgnoresCase(folder)),
            Err(error) if is_read_only(&error) => Ok(()),
            Err(error) => Err(StoreError::io(&folder, error)),
        }
    }

    fn clear_temporary(&self) -> Result<(), StoreError> {
        let folder = self.path(&["temporary"]);
        for name in list(&folder)? {
            remove(&folder.join(name))?;
        }
        Ok(())
    }

    fn temporary_path(&self) -> PathBuf {
        let number = self.shared.temporary.fetch_add(1, Ordering::Relaxed);
        self.path(&["temporary", &format!("{}-{number}", std::process::id())])
    }

    /// Writes a small file atomically.
    fn write(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        let temporary = self.temporary_path();
        fs_err::write(&temporary, content).map_err(|error| StoreError::io(&temporary, error))?;
        move_file(&temporary, path)
    }
}

/// Refuses a folder with other files, among which a registry would be created.
fn ensure_own(root: &Path) -> Result<(), StoreError> {
    // A folder that does not exist is created, and one that cannot be read is reported then.
    let Ok(entries) = fs_err::read_dir(root) else {
        return Ok(());
    };
    let is_known = |name: &std::ffi::OsStr| {
        let others = ["collected", "lost+found"];
        FOLDERS.iter().chain(&others).any(|known| name == *known)
    };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    if root.join("blobs").is_dir() || names.all(|name| is_known(&name)) {
        return Ok(());
    }
    Err(StoreError::Foreign(root.to_owned()))
}

/// Locks a folder for this process. The lock is released when the file is closed, also by a crash.
fn lock(root: &Path) -> Result<std::fs::File, StoreError> {
    let failed = |error| StoreError::io(root, error);
    let folder = fs_err::File::open(root).map_err(failed)?.into_parts().0;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(root.to_owned())),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) => {
            tracing::warn!("{} cannot be locked: {error}", root.display());
            Ok(folder)
        }
    }
}

/// Whether a file system has two files for two names that differ by case. The name has upper-case letters.
fn distinguishes_case(folder: &Path, name: &str) -> std::io::Result<bool> {
    let path = folder.join(name);
    fs_err::write(&path, b"")?;
    let is_found = folder.join(name.to_ascii_lowercase()).exists();
    fs_err::remove_file(&path)?;
    Ok(!is_found)
}

/// Whether a write failed because nothing may be written there.
fn is_read_only(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
    )
}

/// Moves a file into a folder that may not exist yet.
fn move_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut result = fs_err::rename(from, to);
    if result
        .as_ref()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        && let Some(parent) = to.parent()
    {
        create_folder(parent)?;
        result = fs_err::rename(from, to);
    }
    result.map_err(|error| StoreError::io(to, error))
}

fn create_folder(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(path);
    created.map_err(|error| StoreError::io(path, error))
}

/// The names in a folder. A missing folder is empty.
fn list(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs_err::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io(folder, error)),
    };
    let names = entries.map(|entry| {
        let entry = entry.map_err(|error| StoreError::io(folder, error))?;
        Ok(entry.file_name().to_string_lossy().into_owned())
    });
    names.collect()
}

/// Calls `visit` for all files below a folder. Files that disappear meanwhile are skipped.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path, &std::fs::Metadata)) -> Result<(), StoreError> {
    for name in list(folder)? {
        let path = folder.join(name);
        match fs_err::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => walk(&path, visit)?,
            Ok(metadata) => visit(&path, &metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io(&path, error)),
        }
    }
    Ok(())
}

/// Removes a file. True if it existed.
fn remove(path: &Path) -> Result<bool, StoreError> {
    match fs_err::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io(path, error)),
    }
}

#[cfg(test)]
mod tests;
