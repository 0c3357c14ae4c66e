//! Opens a package in any form. A built one is verified as a whole, and becomes the same plain data as its folder.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use outrigger_oci::Digest;

use crate::archive::{self, Input, Reader, Sink};
use crate::finding::Finding;
use crate::layout::{self, IMAGES};
use crate::lock::{EntryKind, Lock, LockedEntry};
use crate::package::Package;
use crate::progress::Progress;
use crate::root::{Root, title};
use crate::scan::{
    self, Content, Entry, File, ImageArchive, MAX_FILE_BYTES, MAX_TOTAL_BYTES, Scanned, scan,
};

mod images;

/// The most bytes of all manifests of a package, which are kept while it is read.
const MAX_MANIFESTS: u64 = 32 << 20;

/// A package, and what describes it if it was built.
#[derive(Debug)]
pub struct Opened {
    pub scanned: Scanned,
    pub built: Option<Built>,
}

/// What describes a built package.
#[derive(Debug)]
pub struct Built {
    pub root: Root,
    /// The digest of the root document, which identifies the package.
    pub digest: Digest,
    pub lock: Lock,
    pub is_signed: bool,
    /// The bytes of its archive.
    pub size: u64,
}

/// Why a package cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Scan(#[from] scan::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
}

impl OpenError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Scan(_) => None,
            Self::Archive(error) => error.hint(),
        }
    }
}

/// Scans a folder, or reads and verifies a built package.
pub fn open(
    path: &Path,
    base: Option<&Path>,
    progress: &Arc<Progress>,
) -> Result<Opened, OpenError> {
    let input = match Input::find(path) {
        Ok(Some(input)) => input,
        Ok(None) => {
            if base.is_some() {
                let path = path.to_owned();
                return Err(archive::Error::NotADelta { path }.into());
            }
            let scanned = scan(path)?;
            return Ok(Opened {
                scanned,
                built: None,
            });
        }
        // A package is a folder unless it was built.
        Err(archive::Error::Missing(path)) => return Err(scan::Error::Missing(path).into()),
        Err(error) => return Err(error.into()),
    };
    let reader = Reader::open(&input, progress)?;
    let base = open_base(base, progress)?;
    let built = Built {
        root: reader.root().clone(),
        digest: reader.digest(),
        lock: reader.lock().clone(),
        is_signed: reader.signatures().is_some(),
        size: input.len(),
    };
    let mut sink = ScanSink::new(path, &built.root);
    reader.read(base, &mut sink)?;
    let scanned = sink.finish(&built.lock);
    check_name(path, &built.root, &scanned)?;
    Ok(Opened {
        scanned,
        built: Some(built),
    })
}

/// What is shown and signed is the name of the root document, and what is installed is that of the definition.
fn check_name(path: &Path, root: &Root, scanned: &Scanned) -> Result<(), archive::Error> {
    let (package, findings) = Package::read(scanned);
    // A definition that cannot be read is a finding.
    let is_other = package.name != root.name || package.version != root.version;
    if is_other && !findings.iter().any(Finding::is_fatal) {
        return Err(archive::Error::OtherName {
            path: path.to_owned(),
            root: root.title(),
            definition: title(&package.name, package.version.as_deref()),
        });
    }
    Ok(())
}

/// Opens the base of a delta, which must be built.
pub(crate) fn open_base(
    base: Option<&Path>,
    progress: &Arc<Progress>,
) -> Result<Option<Reader>, archive::Error> {
    let Some(path) = base else {
        return Ok(None);
    };
    let input = find_built(path)?;
    Reader::open(&input, progress).map(Some)
}

/// Finds a package that must be built.
pub fn find_built(path: &Path) -> Result<Input, archive::Error> {
    Input::find(path)?.ok_or_else(|| archive::Error::NotBuilt {
        path: path.to_owned(),
        reason: "it is a folder".to_owned(),
    })
}

/// Collects what `scan` reads of a folder.
struct ScanSink<'p> {
    path: &'p Path,
    scanned: Scanned,
    /// The bytes that are kept of all files, and of all manifests.
    kept: u64,
    kept_manifests: u64,
    /// The entries that are being read, and their content if it is kept.
    current: Vec<LockedEntry>,
    bytes: Option<Vec<u8>>,
    index: Option<Vec<u8>>,
    manifests: HashMap<Digest, Vec<u8>>,
}

impl<'p> ScanSink<'p> {
    fn new(path: &'p Path, root: &Root) -> Self {
        Self {
            path,
            scanned: Scanned {
                folder_name: root.name.clone(),
                entries: BTreeMap::new(),
                archive: None,
            },
            kept: 0,
            kept_manifests: 0,
            current: Vec::new(),
            bytes: None,
            index: None,
            manifests: HashMap::new(),
        }
    }

    /// Whether the content of an entry is kept, within the limits of a scan.
    fn keeps(&mut self, entry: &LockedEntry) -> Result<bool, archive::Error> {
        let (kept, limit) = if is_index(entry) || entry.kind == EntryKind::Manifest {
            (&mut self.kept_manifests, MAX_MANIFESTS)
        } else if layout::is_checked(&entry.path) && entry.size <= MAX_FILE_BYTES {
            (&mut self.kept, MAX_TOTAL_BYTES)
        } else {
            return Ok(false);
        };
        *kept = kept.saturating_add(entry.size);
        if *kept > limit {
            let path = self.path.to_owned();
            return Err(archive::Error::TooLarge { path, limit });
        }
        Ok(true)
    }

    fn add(&mut self, entry: &LockedEntry, bytes: Option<Vec<u8>>) {
        match entry.kind {
            EntryKind::Blob => return,
            EntryKind::Manifest => {
                self.manifests
                    .insert(entry.digest.clone(), bytes.unwrap_or_default());
                return;
            }
            EntryKind::File => {}
        }
        let is_checked = layout::is_checked(&entry.path);
        let content = match bytes {
            Some(bytes) if is_index(entry) => {
                self.index = Some(bytes);
                Content::NotRead
            }
            Some(bytes) if is_checked => Content::Bytes(bytes),
            None if is_checked => Content::TooLarge,
            Some(_) | None => Content::NotRead,
        };
        let file = File {
            size: entry.size,
            mode: entry.mode,
            content,
        };
        let path = entry.path.clone();
        self.scanned.entries.insert(path, Entry::File(file));
    }

    fn finish(self, lock: &Lock) -> Scanned {
        let mut scanned = self.scanned;
        let has_images = !lock.images.is_empty() || !lock.manifests.is_empty();
        if self.index.is_some() || has_images || !lock.blobs.is_empty() {
            let index = self.index.unwrap_or_default();
            scanned.archive = Some(ImageArchive {
                path: IMAGES.to_owned(),
                images: images::check(&index, &self.manifests, lock),
            });
        }
        scanned
    }
}

fn is_index(entry: &LockedEntry) -> bool {
    entry.path.strip_prefix(IMAGES) == Some("/index.json")
}

impl Sink for ScanSink<'_> {
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), archive::Error> {
        self.bytes = None;
        for entry in entries {
            if self.keeps(entry)? {
                self.bytes = Some(Vec::new());
            }
        }
        self.current = entries.to_vec();
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), archive::Error> {
        if let Some(kept) = &mut self.bytes {
            kept.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), archive::Error> {
        let bytes = self.bytes.take();
        for entry in std::mem::take(&mut self.current) {
            self.add(&entry, bytes.clone());
        }
        Ok(())
    }
}
