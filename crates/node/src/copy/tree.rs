//! The files to copy: scanned once, with their digests, and then copied to any number of machines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::file_cache::{FileCache, ScanProgress, ScannedFile};
use crate::trust::ancestors;

/// The most files and folders of a tree.
pub const MAX_FILES: usize = 10_000;
/// The deepest folder below a source.
pub const MAX_DEPTH: usize = 64;
/// Hooks run as root: nobody else may change them, or replace them in their folder. Folders of ConfigMap volumes are
/// writable for everybody.
const WRITABLE_FOR_OTHERS: u32 = 0o022;

/// A file or folder below the files root, and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the files root.
    pub source: PathBuf,
    /// An absolute path.
    pub destination: String,
}

/// The files of a copy. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tree {
    listing: Arc<Listing>,
    guard: Option<Arc<Guard>>,
}

/// Where files must not go, also not by links of the machine.
#[derive(Debug)]
struct Guard {
    is_system: fn(&str) -> bool,
    /// Files and folders that may go anywhere.
    forced: BTreeSet<String>,
    /// Of the tree with what is forced.
    digest: String,
}

/// A destination that links of the machine lead to a path of the system.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misled {
    pub(super) destination: String,
    pub(super) real: String,
}

/// What a tree consists of.
#[derive(Debug)]
pub(super) struct Listing {
    /// Folders and their modes, parents first.
    folders: BTreeMap<String, u32>,
    files: BTreeMap<String, File>,
    /// Of paths, modes and digests.
    digest: String,
}

/// A file to copy.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) mode: u32,
    scanned: Arc<ScannedFile>,
}

impl Deref for File {
    type Target = ScannedFile;

    fn deref(&self) -> &ScannedFile {
        &self.scanned
    }
}

impl Listing {
    fn new(folders: BTreeMap<String, u32>, files: BTreeMap<String, File>) -> Self {
        let mut hasher = Sha256::new();
        for (path, mode) in &folders {
            hasher.update(format!("d {mode:o} {path}\n"));
        }
        for (path, file) in &files {
            hasher.update(format!("f {:o} {} {path}\n", file.mode, file.digest));
        }
        Self {
            folders,
            files,
            digest: hexadecimal(&hasher.finalize()),
        }
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether it also has the same sources. Equal digests mean equal paths and modes.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let mut files = self.files.values().zip(other.files.values());
        self.digest == other.digest && files.all(|(a, b)| Arc::ptr_eq(&a.scanned, &b.scanned))
    }
}

/// Why files cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
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

impl FileCache {
    /// Like [`Tree::scan`]. Large files that have not changed since another scan are not read again, and the content of
    /// small ones is shared with other trees.
    pub fn scan(
        &self,
        root: &Path,
        entries: &[Entry],
        executables: &BTreeSet<String>,
        progress: &ScanProgress,
    ) -> Result<Tree, ScanError> {
        let root = real_path(root)?;
        let mut scan = Scan {
            cache: self,
            progress,
            root,
            executables,
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        for entry in entries {
            let destination = normalized(&entry.destination)?;
            let source = scan.root.join(&entry.source);
            scan.visit(&source, &destination, &mut Vec::new())?;
        }
        scan.check()?;
        let listing = Listing::new(scan.folders, scan.files);
        Ok(Tree {
            listing: self.share(listing),
            guard: None,
        })
    }
}

impl Tree {
    /// Reads the files below `root`. Links are followed if they stay inside of it. The files whose destinations are in
    /// `executables` become executable, and must be runnable scripts or programs.
    pub fn scan(
        root: &Path,
        entries: &[Entry],
        executables: &BTreeSet<String>,
    ) -> Result<Self, ScanError> {
        FileCache::default().scan(root, entries, executables, &ScanProgress::default())
    }

    /// The same files, which are not copied to paths of the system, except for these destinations and what is below them.
    #[must_use]
    pub fn guarded<'a>(
        mut self,
        is_system: fn(&str) -> bool,
        forced: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let forced = forced.into_iter().map(|path| path.trim_end_matches('/'));
        let forced: BTreeSet<String> = forced.map(ToOwned::to_owned).collect();
        let mut digest = self.listing.digest().to_owned();
        if !forced.is_empty() {
            let mut hasher = Sha256::new_with_prefix(&digest);
            for path in &forced {
                hasher.update(format!("\nforced {path}"));
            }
            digest = hexadecimal(&hasher.finalize());
        }
        self.guard = Some(Arc::new(Guard {
            is_system,
            forced,
            digest,
        }));
        self
    }

    /// A destination that leads to a path of the system, by the links among its folders on a machine. Each link is given with
    /// its real path.
    pub(super) fn misled(&self, links: &BTreeMap<&str, &str>) -> Option<Misled> {
        let guard = self.guard.as_ref().filter(|_| !links.is_empty())?;
        let paths = self.folders().keys().chain(self.files().keys());
        let mut paths = paths.filter(|path| {
            let mut above = ancestors(path).chain([path.as_str()]);
            !above.any(|path| guard.forced.contains(path))
        });
        paths.find_map(|path| {
            let above: Vec<&str> = ancestors(path).chain([path.as_str()]).collect();
            // What is below the last link is real.
            let mut above = above.into_iter().rev();
            let (link, target) = above.find_map(|it| links.get_key_value(it))?;
            let rest = path.strip_prefix(link)?;
            let real = format!("{}{rest}", target.trim_end_matches('/'));
            (guard.is_system)(&real).then(|| Misled {
                destination: path.clone(),
                real,
            })
        })
    }

    /// Folders and their modes, parents first.
    pub(super) fn folders(&self) -> &BTreeMap<String, u32> {
        &self.listing.folders
    }

    pub(super) fn files(&self) -> &BTreeMap<String, File> {
        &self.listing.files
    }

    /// The destinations of all files, in order.
    pub fn destinations(&self) -> impl Iterator<Item = &str> {
        self.files().keys().map(String::as_str)
    }

    /// The SHA-256 of the file that goes to a destination, in hexadecimal.
    pub fn digest_of(&self, destination: &str) -> Option<&str> {
        Some(&self.files().get(destination)?.digest)
    }

    /// Identifies the whole content: paths, modes and digests, and what may go anywhere.
    pub fn digest(&self) -> &str {
        let guard = self.guard.as_ref();
        guard.map_or_else(|| self.listing.digest(), |guard| &guard.digest)
    }

    /// The size of all files.
    pub fn size(&self) -> u64 {
        self.files().values().map(|file| file.size).sum()
    }

    /// Whether both are the same scan in memory.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.listing, &other.listing)
    }
}

struct Scan<'a> {
    cache: &'a FileCache,
    progress: &'a ScanProgress,
    root: PathBuf,
    executables: &'a BTreeSet<String>,
    folders: BTreeMap<String, u32>,
    files: BTreeMap<String, File>,
}

impl Scan<'_> {
    /// `above` are the real paths of the folders that lead here.
    fn visit(
        &mut self,
        path: &Path,
        destination: &str,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), ScanError> {
        let real = real_path(path)?;
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
        let scanned = self.cache.read(real, metadata, self.progress);
        let scanned = scanned.map_err(|error| read_error(real, error))?;
        let is_executable = self.executables.contains(destination);
        if is_executable && scanned.has_windows_line_endings {
            return Err(ScanError::LineEndings(real.to_owned()));
        }
        let mode = if is_executable {
            (mode | (mode & 0o444) >> 2 | 0o100) & !WRITABLE_FOR_OTHERS
        } else {
            mode
        };
        self.files
            .insert(destination.to_owned(), File { mode, scanned });
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

fn real_path(path: &Path) -> Result<PathBuf, ScanError> {
    fs_err::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => ScanError::Missing(path.to_owned()),
        _ => read_error(path, error),
    })
}

fn read_error(path: &Path, source: std::io::Error) -> ScanError {
    ScanError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
