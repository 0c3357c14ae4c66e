//! The files to copy: scanned once, with their digests, and then copied to any number of machines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// The most files and folders of a tree.
pub const MAX_FILES: usize = 10_000;
/// The deepest folder below a source.
pub const MAX_DEPTH: usize = 64;
/// Hooks run as root: nobody else may change them, or replace them in their folder. Folders of ConfigMap volumes are
/// writable for everybody.
const WRITABLE_FOR_OTHERS: u32 = 0o022;
/// Files up to this size are kept in memory, as long as [`MAX_CACHE`] allows.
const CACHED_FILE: u64 = 256 * 1024;
const MAX_CACHE: u64 = 8 * 1024 * 1024;

/// A file or folder below the files root, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the files root.
    pub source: PathBuf,
    /// An absolute path.
    pub destination: String,
}

/// The files of a copy.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Folders and their modes, parents first.
    pub(super) folders: Arc<BTreeMap<String, u32>>,
    pub(super) files: Arc<BTreeMap<String, File>>,
}

/// A file to copy.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) source: PathBuf,
    pub(super) mode: u32,
    pub(super) size: u64,
    /// SHA-256, in hexadecimal.
    pub(super) digest: String,
    pub(super) content: Option<Bytes>,
    stamp: Stamp,
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

/// Why files cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is a link to {}, which is outside of {}", path.display(), target.display(), root.display())]
    Outside {
        path: PathBuf,
        target: PathBuf,
        root: PathBuf,
    },
    #[error("{} is a link to a folder that contains it", .0.display())]
    Loop(PathBuf),
    #[error("{} is neither a regular file nor a folder", .0.display())]
    Special(PathBuf),
    #[error("{} has more than {MAX_FILES} files", .0.display())]
    TooMany(PathBuf),
    #[error("{} is nested more than {MAX_DEPTH} levels deep", .0.display())]
    TooDeep(PathBuf),
    #[error("the name {0:?} contains a control character, a backslash, or is not UTF-8")]
    Name(String),
    #[error("destination {0:?} is not an absolute path without `.`, `..` and control characters")]
    Destination(String),
    #[error("{destination} is the destination of both {} and {}", first.display(), second.display())]
    Twice {
        destination: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("{destination} is the destination of the file {}, and also a folder", source_path.display())]
    FileAndFolder {
        destination: String,
        source_path: PathBuf,
    },
    #[error("{} has Windows line endings, so that no shell can run it", .0.display())]
    LineEndings(PathBuf),
    #[error("{0} is to be executed, but is not among the files")]
    NoSuchExecutable(String),
}

impl Tree {
    /// Reads the files below `root`. Links are followed if they stay inside of it. The files whose destinations are in
    /// `executables` become executable, and must be runnable scripts or programs.
    pub fn scan(
        root: &Path,
        entries: &[Entry],
        executables: &BTreeSet<String>,
    ) -> Result<Self, ScanError> {
        Self::scan_with(None, root, entries, executables)
    }

    /// Like [`Self::scan`], but large files that have not changed since this scan are not read again.
    pub fn scan_again(
        &self,
        root: &Path,
        entries: &[Entry],
        executables: &BTreeSet<String>,
    ) -> Result<Self, ScanError> {
        Self::scan_with(Some(self), root, entries, executables)
    }

    fn scan_with(
        previous: Option<&Self>,
        root: &Path,
        entries: &[Entry],
        executables: &BTreeSet<String>,
    ) -> Result<Self, ScanError> {
        let root = fs_err::canonicalize(root).map_err(|error| read_error(root, error))?;
        let mut scan = Scan {
            previous,
            root,
            executables,
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
            cached: 0,
        };
        for entry in entries {
            let destination = normalized(&entry.destination)?;
            let source = scan.root.join(&entry.source);
            scan.visit(&source, &destination, &mut Vec::new())?;
        }
        scan.check()?;
        Ok(Self {
            folders: Arc::new(scan.folders),
            files: Arc::new(scan.files),
        })
    }

    /// The destinations of all files, in order.
    pub fn destinations(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The SHA-256 of the file that goes to a destination, in hexadecimal.
    pub fn digest_of(&self, destination: &str) -> Option<&str> {
        Some(&self.files.get(destination)?.digest)
    }

    /// Identifies the whole content: paths, modes and digests.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, mode) in self.folders.iter() {
            hasher.update(format!("d {mode:o} {path}\n"));
        }
        for (path, file) in self.files.iter() {
            hasher.update(format!("f {:o} {} {path}\n", file.mode, file.digest));
        }
        hexadecimal(&hasher.finalize())
    }
}

struct Scan<'a> {
    previous: Option<&'a Tree>,
    root: PathBuf,
    executables: &'a BTreeSet<String>,
    folders: BTreeMap<String, u32>,
    files: BTreeMap<String, File>,
    cached: u64,
}

impl Scan<'_> {
    /// `above` are the real paths of the folders that lead here.
    fn visit(
        &mut self,
        path: &Path,
        destination: &str,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), ScanError> {
        let real = fs_err::canonicalize(path).map_err(|error| read_error(path, error))?;
        if !real.starts_with(&self.root) {
            return Err(ScanError::Outside {
                path: path.to_owned(),
                target: real,
                root: self.root.clone(),
            });
        }
        let metadata = fs_err::metadata(&real).map_err(|error| read_error(path, error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_file() {
            return self.file(&real, destination, mode, &metadata);
        }
        if !metadata.is_dir() {
            return Err(ScanError::Special(path.to_owned()));
        }
        if above.contains(&real) {
            return Err(ScanError::Loop(path.to_owned()));
        }
        if above.len() == MAX_DEPTH {
            return Err(ScanError::TooDeep(path.to_owned()));
        }
        self.folder(path, destination, mode)?;
        above.push(real);
        self.children(path, destination, above)?;
        above.pop();
        Ok(())
    }

    fn children(
        &mut self,
        path: &Path,
        destination: &str,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), ScanError> {
        let list = fs_err::read_dir(path).map_err(|error| read_error(path, error))?;
        for child in list {
            let child = child.map_err(|error| read_error(path, error))?;
            let name = child.file_name();
            let name = name.to_str().filter(|name| is_plain(name));
            let name = name
                .ok_or_else(|| ScanError::Name(child.file_name().to_string_lossy().into_owned()))?;
            // ConfigMap volumes keep their content in hidden folders, and link to it.
            if name.starts_with("..") {
                continue;
            }
            self.visit(&child.path(), &format!("{destination}/{name}"), above)?;
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path, destination: &str, mode: u32) -> Result<(), ScanError> {
        self.check_count(path)?;
        self.folders
            .insert(destination.to_owned(), mode & !WRITABLE_FOR_OTHERS);
        Ok(())
    }

    fn file(
        &mut self,
        real: &Path,
        destination: &str,
        mode: u32,
        metadata: &std::fs::Metadata,
    ) -> Result<(), ScanError> {
        self.check_count(real)?;
        if let Some(other) = self.files.get(destination) {
            return Err(ScanError::Twice {
                destination: destination.to_owned(),
                first: other.source.clone(),
                second: real.to_owned(),
            });
        }
        let is_executable = self.executables.contains(destination);
        let (size, stamp) = (metadata.len(), Stamp::of(metadata));
        let known = self.previous.and_then(|tree| tree.files.get(destination));
        let is_unchanged = |file: &&File| file.source == real && file.stamp == stamp;
        let is_large = size > CACHED_FILE && !is_executable;
        if let Some(known) = known.filter(is_unchanged).filter(|_| is_large) {
            let file = File {
                mode,
                ..known.clone()
            };
            self.files.insert(destination.to_owned(), file);
            return Ok(());
        }
        let keep = size <= CACHED_FILE && self.cached + size <= MAX_CACHE;
        let read = read(real, keep).map_err(|error| read_error(real, error))?;
        if is_executable && has_windows_line_endings(&read.start) {
            return Err(ScanError::LineEndings(real.to_owned()));
        }
        self.cached += read
            .content
            .as_ref()
            .map_or(0, |content| content.len() as u64);
        let file = File {
            source: real.to_owned(),
            mode: if is_executable {
                (mode | (mode & 0o444) >> 2 | 0o100) & !WRITABLE_FOR_OTHERS
            } else {
                mode
            },
            size: read.size,
            digest: read.digest,
            content: read.content,
            stamp,
        };
        self.files.insert(destination.to_owned(), file);
        Ok(())
    }

    fn check_count(&self, path: &Path) -> Result<(), ScanError> {
        if self.files.len() + self.folders.len() >= MAX_FILES {
            return Err(ScanError::TooMany(path.parent().unwrap_or(path).to_owned()));
        }
        Ok(())
    }

    /// No file is a folder too, and all executables are there.
    fn check(&self) -> Result<(), ScanError> {
        for (destination, file) in &self.files {
            let below = format!("{destination}/");
            let next = self.files.range(below.clone()..).next();
            let is_parent = next.is_some_and(|(path, _)| path.starts_with(&below));
            if is_parent || self.folders.contains_key(destination) {
                return Err(ScanError::FileAndFolder {
                    destination: destination.clone(),
                    source_path: file.source.clone(),
                });
            }
        }
        let missing = self
            .executables
            .iter()
            .find(|path| !self.files.contains_key(*path));
        missing.map_or(Ok(()), |path| {
            Err(ScanError::NoSuchExecutable(path.clone()))
        })
    }
}

struct ReadFile {
    size: u64,
    digest: String,
    start: Vec<u8>,
    content: Option<Bytes>,
}

/// Digests a file with bounded memory.
fn read(path: &Path, keep: bool) -> std::io::Result<ReadFile> {
    let mut file = fs_err::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let (mut size, mut content) = (0, Vec::new());
    let mut start = Vec::new();
    loop {
        let count = file.read(&mut buffer)?;
        let data = buffer.get(..count).unwrap_or_default();
        if data.is_empty() {
            break;
        }
        hasher.update(data);
        size += data.len() as u64;
        if start.len() < 4096 {
            start.extend_from_slice(data.get(..4096).unwrap_or(data));
        }
        if keep {
            content.extend_from_slice(data);
        }
    }
    Ok(ReadFile {
        size,
        digest: hexadecimal(&hasher.finalize()),
        start,
        content: keep.then(|| content.into()),
    })
}

/// Whether the first line of a script ends like in DOS. Then the kernel looks for an interpreter named `sh\r`.
fn has_windows_line_endings(start: &[u8]) -> bool {
    let is_program = start.starts_with(b"\x7fELF");
    let line = start.split(|byte| *byte == b'\n').next();
    !is_program && start.contains(&b'\n') && line.is_some_and(|line| line.ends_with(b"\r"))
}

/// A destination without trailing slashes.
fn normalized(destination: &str) -> Result<String, ScanError> {
    let invalid = || ScanError::Destination(destination.to_owned());
    let path = destination.strip_prefix('/').ok_or_else(invalid)?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty()
        || parts
            .iter()
            .any(|part| matches!(*part, "." | "..") || !is_plain(part))
    {
        return Err(invalid());
    }
    Ok(format!("/{}", parts.join("/")))
}

/// Names that `sha256sum` prints as they are.
fn is_plain(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || c == '\\')
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read_error(path: &Path, source: std::io::Error) -> ScanError {
    ScanError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
