//! Files that were read: their digests, and the content of small ones. All trees of a process share them.
//!
//! The trees own what is here; what no tree has any more is dropped. So any number of clusters with the same files costs
//! one copy, and a large file is read once for all of them.

use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sha2::{Digest as _, Sha256};

use super::tree::{Listing, hexadecimal};

/// Files up to this size are kept in memory, as long as [`MAX_CONTENT`] allows. All others are streamed.
const SMALL: u64 = 256 * 1024;
/// The total size of all content that is kept.
const MAX_CONTENT: u64 = 16 * 1024 * 1024;
/// How much of a file shows whether it is a script.
const START: usize = 4096;

/// What the trees of a process share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileCache(Arc<Mutex<Shared>>);

#[derive(Debug)]
struct Shared {
    /// The total size of all content.
    limit: u64,
    /// By path.
    files: HashMap<PathBuf, Weak<ScannedFile>>,
    /// By digest: copies of a file are kept once.
    contents: HashMap<String, Weak<Content>>,
    /// By digest.
    listings: HashMap<String, Weak<Listing>>,
    /// The bytes of all content.
    held: Arc<AtomicU64>,
}

/// How far a scan is, for others, who can also cancel it.
#[derive(Debug, Default)]
pub struct ScanProgress {
    read: AtomicU64,
    is_cancelled: AtomicBool,
}

impl ScanProgress {
    /// How many bytes were read.
    pub fn bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Makes the scan end with an error.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) -> std::io::Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("the scan was cancelled"));
        }
        self.read.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// A file as it was read.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub(super) source: PathBuf,
    pub(super) size: u64,
    /// SHA-256, in hexadecimal.
    pub(super) digest: String,
    pub(super) content: Option<Arc<Content>>,
    /// Whether it is a script that the kernel cannot start.
    pub(super) has_windows_line_endings: bool,
    stamp: Stamp,
}

/// The content of a small file, which may have secrets. `Debug` does not show it.
pub(super) struct Content {
    bytes: Box<[u8]>,
    held: Arc<AtomicU64>,
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.bytes.len())
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        self.held
            .fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Changes whenever a file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Default for FileCache {
    fn default() -> Self {
        Self::with_limit(MAX_CONTENT)
    }
}

impl FileCache {
    fn with_limit(limit: u64) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            limit,
            files: HashMap::new(),
            contents: HashMap::new(),
            listings: HashMap::new(),
            held: Arc::default(),
        })))
    }

    /// Reads a file, unless it is large and known. Small ones are always read: a clock may be too coarse to tell that one
    /// was written twice.
    pub(super) fn read(
        &self,
        path: &Path,
        metadata: &std::fs::Metadata,
        progress: &ScanProgress,
    ) -> std::io::Result<Arc<ScannedFile>> {
        let stamp = Stamp::of(metadata);
        let known = self.shared().files.get(path).and_then(Weak::upgrade);
        let known = known.filter(|known| known.stamp == stamp);
        if let Some(known) = &known
            && stamp.size > SMALL
        {
            return Ok(Arc::clone(known));
        }
        let read = read(path, progress)?;
        if let Some(known) = known
            && known.digest == read.digest
        {
            return Ok(known);
        }
        let file = Arc::new(ScannedFile {
            source: path.to_owned(),
            size: read.size,
            content: read.content.and_then(|it| self.keep(&read.digest, it)),
            has_windows_line_endings: has_windows_line_endings(&read.start),
            digest: read.digest,
            stamp,
        });
        let mut shared = self.shared();
        shared.files.insert(path.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }

    /// The content that all files with this digest share; `None` if it would exceed the limit.
    fn keep(&self, digest: &str, bytes: Vec<u8>) -> Option<Arc<Content>> {
        let mut shared = self.shared();
        if let Some(known) = shared.contents.get(digest).and_then(Weak::upgrade) {
            return Some(known);
        }
        let size = bytes.len() as u64;
        if shared.held.load(Ordering::Relaxed) + size > shared.limit {
            return None;
        }
        shared.held.fetch_add(size, Ordering::Relaxed);
        let content = Arc::new(Content {
            bytes: bytes.into_boxed_slice(),
            held: Arc::clone(&shared.held),
        });
        let weak = Arc::downgrade(&content);
        shared.contents.insert(digest.to_owned(), weak);
        Some(content)
    }

    /// The only copy of a listing. Forgets what no tree has any more.
    pub(super) fn share(&self, listing: Listing) -> Arc<Listing> {
        let mut shared = self.shared();
        let known = shared
            .listings
            .get(listing.digest())
            .and_then(Weak::upgrade);
        let listing = match known {
            Some(known) if known.is_same(&listing) => known,
            _ => Arc::new(listing),
        };
        let weak = Arc::downgrade(&listing);
        shared.listings.insert(listing.digest().to_owned(), weak);
        shared.files.retain(|_, file| file.strong_count() > 0);
        shared.contents.retain(|_, it| it.strong_count() > 0);
        shared.listings.retain(|_, it| it.strong_count() > 0);
        listing
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ReadFile {
    size: u64,
    digest: String,
    start: Vec<u8>,
    /// Of small files.
    content: Option<Vec<u8>>,
}

/// Digests a file with bounded memory.
fn read(path: &Path, progress: &ScanProgress) -> std::io::Result<ReadFile> {
    let mut file = fs_err::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let (mut size, mut start) = (0, Vec::new());
    let mut content = Some(Vec::new());
    loop {
        let count = file.read(&mut buffer)?;
        let data = buffer.get(..count).unwrap_or_default();
        if data.is_empty() {
            break;
        }
        hasher.update(data);
        size += data.len() as u64;
        progress.advance(data.len() as u64)?;
        let room = START - start.len();
        start.extend_from_slice(data.get(..room).unwrap_or(data));
        content = content.filter(|_| size <= SMALL);
        if let Some(content) = &mut content {
            content.extend_from_slice(data);
        }
    }
    Ok(ReadFile {
        size,
        digest: hexadecimal(&hasher.finalize()),
        start,
        content,
    })
}

/// Whether the first line of a script ends like in DOS. Then the kernel looks for an interpreter named `sh\r`.
fn has_windows_line_endings(start: &[u8]) -> bool {
    let is_program = start.starts_with(b"\x7fELF");
    let line = start.split(|byte| *byte == b'\n').next();
    !is_program && start.contains(&b'\n') && line.is_some_and(|line| line.ends_with(b"\r"))
}

#[cfg(test)]
mod tests;
