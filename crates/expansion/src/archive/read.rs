//! Reads a built package as a stream. Every byte is verified, and whatever is wrong is named.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use outrigger_oci::Digest;

use super::PIECE;
use super::error::Error;
use super::frame::Frame;
use super::input::Input;
use super::stream::Hashed;
use crate::layout::{LOCK, ROOT};
use crate::lock::{Lock, LockedEntry};
use crate::progress::Progress;
use crate::root::{DocumentError, Root};

/// How many times as large as the package its content may be, unless it is small.
const MAX_RATIO: u64 = 1000;

/// How a frame of zstd begins.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Content of this size may be compressed to any size.
const SMALL_CONTENT: u64 = 1 << 30;

/// Receives the entries of a package, in the order of the lock. Content is verified when its entry ends, not before.
pub trait Sink {
    /// Content begins: that of one entry, or of several entries of a delta whose content is the same.
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), Error>;
    /// The next bytes of the content.
    fn data(&mut self, bytes: &[u8]) -> Result<(), Error>;
    /// The content is complete and has its digest.
    fn end(&mut self) -> Result<(), Error>;
}

/// A sink for content that only needs to be verified.
#[derive(Debug)]
pub struct Discard;

impl Sink for Discard {
    fn begin(&mut self, _: &[LockedEntry]) -> Result<(), Error> {
        Ok(())
    }

    fn data(&mut self, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A built package whose documents were read and verified. Its content was not read yet.
pub struct Reader {
    input: Input,
    root: Root,
    root_bytes: Vec<u8>,
    signatures: Option<Vec<u8>>,
    lock: Lock,
    body_offset: u64,
    frame: Frame,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Reads the documents of a package: the root document, signatures and the lock, whose digest the root document has.
    pub fn open(input: &Input, progress: &Arc<Progress>) -> Result<Self, Error> {
        Self::open_documents(input, progress).map_err(|error| input.explain(error))
    }

    fn open_documents(input: &Input, progress: &Arc<Progress>) -> Result<Self, Error> {
        progress.expect(input.len());
        let start = progress.bytes().0;
        let mut bytes = BufReader::with_capacity(PIECE, input.open()?);
        check_magic(&mut bytes, input)?;
        let stream = Hashed::new(bytes, Arc::clone(progress));
        let mut frame = Frame::new(stream, input, ROOT)?;
        let root_bytes = frame.root()?;
        let signatures = frame.signatures()?;
        let path = input.path().to_owned();
        let refused = |document| {
            let path = path.clone();
            move |source: DocumentError| Error::Document {
                path,
                document,
                source,
            }
        };
        let root = Root::parse(&root_bytes).map_err(refused(ROOT))?;
        let stream = frame.into_stream();
        let body_offset = progress.bytes().0.saturating_sub(start);
        let mut frame = Frame::new(stream, input, LOCK)?;
        let lock = frame.lock(&root)?;
        let lock = Lock::parse(&lock).map_err(refused(LOCK))?;
        check_ratio(input, &lock)?;
        Ok(Self {
            input: input.clone(),
            root,
            root_bytes,
            signatures,
            lock,
            body_offset,
            frame,
        })
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The root document as it is in the package, which is what is signed.
    pub fn root_bytes(&self) -> &[u8] {
        &self.root_bytes
    }

    /// The digest of the root document, which identifies the package.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.root_bytes)
    }

    /// The document of signatures, which is not verified.
    pub fn signatures(&self) -> Option<&[u8]> {
        self.signatures.as_deref()
    }

    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Where the package was opened.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Where the second frame begins.
    pub(crate) fn body_offset(&self) -> u64 {
        self.body_offset
    }

    /// Reads and verifies the whole package, with the base that a delta needs. The base is read first.
    pub fn read(self, base: Option<Self>, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(base) = self.check_base(base)? {
            let mut wanted: HashMap<Digest, Vec<LockedEntry>> = HashMap::new();
            for entry in self.lock.entries().filter(|entry| entry.in_base) {
                wanted.entry(entry.digest.clone()).or_default().push(entry);
            }
            base.read_carried(&mut FromBase {
                wanted,
                is_wanted: false,
                sink,
            })?;
        }
        self.read_carried(sink)
    }

    /// The base, if it is the one that this package needs and has what it must have.
    fn check_base(&self, base: Option<Self>) -> Result<Option<Self>, Error> {
        let path = self.input.path().to_owned();
        let (needed, base) = match (&self.root.base, base) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(Error::NotADelta { path }),
            (Some(needed), None) => {
                let (base, digest) = (needed.title(), needed.digest.clone());
                return Err(Error::NeedsBase { path, base, digest });
            }
            (Some(needed), Some(base)) => (needed, base),
        };
        let shown = |title: String, digest: &Digest| format!("{title} ({digest})");
        let base_path = base.input.path().to_owned();
        if needed.digest != base.digest() {
            return Err(Error::OtherBase {
                path: base_path,
                expected: shown(needed.title(), &needed.digest),
                found: shown(base.root.title(), &base.digest()),
            });
        }
        if base.root.base.is_some() {
            return Err(Error::BaseIsDelta { path: base_path });
        }
        let entries = base.lock.entries();
        let has: HashSet<(Digest, u64)> = entries.map(|entry| (entry.digest, entry.size)).collect();
        let mut needed = self.lock.entries().filter(|entry| entry.in_base);
        match needed.find(|entry| !has.contains(&(entry.digest.clone(), entry.size))) {
            Some(entry) => Err(Error::BaseLacks {
                path: base_path,
                entry: entry.path,
            }),
            None => Ok(Some(base)),
        }
    }

    /// Reads and verifies what the archive itself carries, which is all unless it is a delta.
    pub fn read_carried(self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Self {
            lock,
            mut frame,
            input,
            root,
            ..
        } = self;
        let result = frame.entries(&lock, root.base.is_some(), sink);
        let result = result.and_then(|()| frame.finish());
        let result = result.and_then(|digest| input.check_package(&digest));
        result.map_err(|error| input.explain(error))
    }
}

/// A file of another kind is not called damaged.
fn check_magic(bytes: &mut impl BufRead, input: &Input) -> Result<(), Error> {
    let path = input.path();
    let start = bytes.fill_buf().map_err(|error| Error::io(path, error))?;
    if start.starts_with(&ZSTD_MAGIC) {
        return Ok(());
    }
    let (path, reason) = (path.to_owned(), "it is not compressed with zstd".to_owned());
    Err(Error::NotBuilt { path, reason })
}

fn check_ratio(input: &Input, lock: &Lock) -> Result<(), Error> {
    let (length, size) = (input.len(), lock.size(true));
    if size > length.saturating_mul(MAX_RATIO).max(SMALL_CONTENT) {
        let (path, limit) = (input.path().to_owned(), MAX_RATIO);
        return Err(Error::Ratio {
            path,
            length,
            size,
            limit,
        });
    }
    Ok(())
}

/// Passes on the entries of a base that a delta lacks, under the names that they have in the delta.
struct FromBase<'s> {
    wanted: HashMap<Digest, Vec<LockedEntry>>,
    /// Whether the delta has entries with the current content.
    is_wanted: bool,
    sink: &'s mut dyn Sink,
}

impl Sink for FromBase<'_> {
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), Error> {
        let found = entries
            .iter()
            .find_map(|entry| self.wanted.remove(&entry.digest));
        self.is_wanted = found.is_some();
        match found {
            Some(entries) => self.sink.begin(&entries),
            None => Ok(()),
        }
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.is_wanted {
            self.sink.data(bytes)
        } else {
            Ok(())
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        if self.is_wanted {
            self.sink.end()
        } else {
            Ok(())
        }
    }
}
