//! A frame of a built package: compressed entries, each of which must be the one that is expected.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use outrigger_oci::{Algorithm, Digest};
use zstd::stream::read::Decoder;

use super::chunk::ChunkError;
use super::error::{Error, Refused};
use super::header::{self, BLOCK, Block, Found, padding};
use super::input::Input;
use super::read::Sink;
use super::stream::Hashed;
use super::write::{DOCUMENT_MODE, TRAILER, parse_trailer};
use super::{MAX_DOCUMENT, MAX_LOCK, MAX_WINDOW_LOG, PIECE};
use crate::layout::{LOCK, ROOT, SIGNATURES};
use crate::lock::{Lock, LockedEntry};
use crate::root::Root;

/// The bytes of a package.
pub(super) type Stream = Hashed<BufReader<Box<dyn Read + Send>>>;

/// What an error calls the last blocks of a package.
const END: &str = "end of the package";

/// A frame of compressed entries.
pub(super) struct Frame {
    decoder: Decoder<'static, Stream>,
    input: Input,
}

/// The paths of a package, and those that were read.
#[derive(Debug, Default)]
struct Paths<'p> {
    all: HashSet<&'p str>,
    read: HashSet<&'p str>,
}

impl Frame {
    pub(super) fn new(stream: Stream, input: &Input, entry: &str) -> Result<Self, Error> {
        let new = || {
            let mut decoder = Decoder::with_buffer(stream)?.single_frame();
            decoder.window_log_max(MAX_WINDOW_LOG)?;
            Ok(decoder)
        };
        let input = input.clone();
        let decoder = new().map_err(|error| damaged(input.path(), entry, error))?;
        Ok(Self { decoder, input })
    }

    /// What follows the frame, which must have been read to its end.
    pub(super) fn into_stream(self) -> Stream {
        self.decoder.finish()
    }

    fn path(&self) -> &Path {
        self.input.path()
    }

    fn refused(&self, entry: impl Into<String>, refused: Refused) -> Error {
        Error::Refused {
            path: self.path().to_owned(),
            entry: entry.into(),
            refused,
        }
    }

    /// The next block. `None` is the end of the frame.
    fn block(&mut self, entry: &str) -> Result<Option<Block>, Error> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            let read = self.decoder.read(&mut block[filled..]);
            let read = read.map_err(|error| damaged(self.input.path(), entry, error))?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        match filled {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(damaged(
                self.path(),
                entry,
                io::ErrorKind::UnexpectedEof.into(),
            )),
        }
    }

    /// The root document, which comes first.
    pub(super) fn root(&mut self) -> Result<Vec<u8>, Error> {
        let path = self.path().to_owned();
        let not_built = |reason: &str| Error::NotBuilt {
            path: path.clone(),
            reason: reason.to_owned(),
        };
        let block = self.block(ROOT)?;
        let block = block.ok_or_else(|| not_built("it is empty"))?;
        match header::describe(&block) {
            None => Err(not_built("it is not a tar")),
            Some(found) if found.path == ROOT => self.document(ROOT, &block, &found, MAX_DOCUMENT),
            Some(Found {
                path,
                refused: Some(refused),
                ..
            }) => Err(self.refused(path, refused)),
            Some(found) => {
                let reason = format!("it begins with {:?} instead of {ROOT}", found.path);
                Err(not_built(&reason))
            }
        }
    }

    /// The document of signatures, if there is one.
    pub(super) fn signatures(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(block) = self.block(SIGNATURES)? else {
            return Ok(None);
        };
        let Some(found) = header::describe(&block).filter(|found| found.path == SIGNATURES) else {
            return Err(self.unexpected(&block, SIGNATURES, &Paths::default()));
        };
        let document = self.document(SIGNATURES, &block, &found, MAX_DOCUMENT)?;
        match self.block(SIGNATURES)? {
            None => Ok(Some(document)),
            Some(block) => Err(self.after_end(&block, &Paths::default())),
        }
    }

    /// The lock, which has the digest that the root document says.
    pub(super) fn lock(&mut self, root: &Root) -> Result<Vec<u8>, Error> {
        if root.lock.size > MAX_LOCK {
            let (size, limit) = (root.lock.size, MAX_LOCK);
            return Err(self.refused(LOCK, Refused::TooLarge { size, limit }));
        }
        let expected = self.header_of(LOCK, DOCUMENT_MODE, root.lock.size)?;
        self.expect_header(&expected, LOCK, &Paths::default())?;
        let mut lock = Vec::new();
        let found = self.content(
            LOCK,
            root.lock.digest.algorithm(),
            root.lock.size,
            &mut |bytes| {
                lock.extend_from_slice(bytes);
                Ok(())
            },
        )?;
        self.check_digest(LOCK, &root.lock.digest, found)?;
        Ok(lock)
    }

    /// A document whose header was read, and whose size is not known before.
    fn document(
        &mut self,
        path: &str,
        block: &Block,
        found: &Found,
        limit: u64,
    ) -> Result<Vec<u8>, Error> {
        let size = found.size;
        if size > limit {
            return Err(self.refused(path, Refused::TooLarge { size, limit }));
        }
        if self.header_of(path, DOCUMENT_MODE, size)? != block {
            return Err(self.refused(path, found.refused.clone().unwrap_or(Refused::Header)));
        }
        let mut document = Vec::new();
        self.content(path, Algorithm::Sha256, size, &mut |bytes| {
            document.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(document)
    }

    fn header_of(&self, path: &str, mode: u32, size: u64) -> Result<Vec<u8>, Error> {
        let header = header::of_file(path, mode, size);
        header.map_err(|error| damaged(self.path(), path, error))
    }

    /// All entries of the lock that the archive carries, then the end of the tar.
    pub(super) fn entries(
        &mut self,
        lock: &Lock,
        is_delta: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let entries: Vec<LockedEntry> = lock.entries().collect();
        let mut paths = Paths {
            all: entries.iter().map(|entry| entry.path.as_str()).collect(),
            read: HashSet::new(),
        };
        for entry in &entries {
            if entry.in_base {
                if !is_delta {
                    return Err(self.refused(&entry.path, Refused::Missing));
                }
                continue;
            }
            let expected = self.header_of(&entry.path, entry.mode, entry.size)?;
            self.expect_header(&expected, &entry.path, &paths)?;
            sink.begin(std::slice::from_ref(entry))?;
            let (algorithm, size) = (entry.digest.algorithm(), entry.size);
            let found =
                self.content(&entry.path, algorithm, size, &mut |bytes| sink.data(bytes))?;
            self.check_digest(&entry.path, &entry.digest, found)?;
            sink.end()?;
            paths.read.insert(entry.path.as_str());
        }
        self.end_of_tar(&paths)
    }

    fn end_of_tar(&mut self, paths: &Paths<'_>) -> Result<(), Error> {
        for _ in 0..2 {
            match self.block(END)? {
                None => {
                    return Err(damaged(
                        self.path(),
                        END,
                        io::ErrorKind::UnexpectedEof.into(),
                    ));
                }
                Some(block) if block == [0; BLOCK] => {}
                Some(block) => return Err(self.after_end(&block, paths)),
            }
        }
        match self.block(END)? {
            None => Ok(()),
            Some(block) => Err(self.after_end(&block, paths)),
        }
    }

    /// Verifies the digest of all bytes, which is the end of the package.
    pub(super) fn finish(self) -> Result<Digest, Error> {
        let path = self.input.path();
        let (found, mut rest) = self.decoder.finish().finish();
        let mut trailer = Vec::new();
        let read = (&mut rest)
            .take(u64::from(TRAILER))
            .read_to_end(&mut trailer);
        read.map_err(|error| damaged(path, END, error))?;
        let expected = parse_trailer(&trailer);
        let expected = expected.ok_or_else(|| Error::NoTrailer {
            path: path.to_owned(),
        })?;
        if found != expected {
            let path = path.to_owned();
            return Err(Error::Trailer {
                path,
                expected,
                found,
            });
        }
        let rest = rest.fill_buf();
        if !rest.map_err(|error| damaged(path, END, error))?.is_empty() {
            let path = path.to_owned();
            return Err(Error::TrailingData { path });
        }
        Ok(found)
    }

    /// Reads the blocks of a header, which must be these.
    fn expect_header(
        &mut self,
        expected: &[u8],
        entry: &str,
        paths: &Paths<'_>,
    ) -> Result<(), Error> {
        for expected in expected.chunks(BLOCK) {
            let block = self.block(entry)?;
            let block = block.ok_or_else(|| self.refused(entry, Refused::Missing))?;
            if block != *expected {
                return Err(self.unexpected(&block, entry, paths));
            }
        }
        Ok(())
    }

    /// What is wrong with a block that is not the header of this entry.
    fn unexpected(&self, block: &Block, entry: &str, paths: &Paths<'_>) -> Error {
        if *block == [0; BLOCK] {
            return self.refused(entry, Refused::Missing);
        }
        let Some(found) = header::describe(block) else {
            let error = io::Error::other("its header is damaged");
            return damaged(self.path(), entry, error);
        };
        let path = found.path.as_str();
        let refused = match found.refused {
            Some(refused) => refused,
            None if path == entry => Refused::Header,
            None if paths.read.contains(path) => Refused::Twice,
            None if paths.all.contains(path) => Refused::Misplaced(entry.to_owned()),
            None => Refused::NotLocked,
        };
        self.refused(found.path, refused)
    }

    /// An entry after the last one of the lock.
    fn after_end(&self, block: &Block, paths: &Paths<'_>) -> Error {
        match header::describe(block) {
            None => Error::TrailingData {
                path: self.path().to_owned(),
            },
            Some(found) => {
                let refused = match found.refused {
                    Some(refused) => refused,
                    None if paths.all.contains(found.path.as_str()) => Refused::Twice,
                    None => Refused::AfterEnd,
                };
                self.refused(found.path, refused)
            }
        }
    }

    /// Passes on the content of an entry and verifies what follows it. Returns its digest.
    fn content(
        &mut self,
        entry: &str,
        algorithm: Algorithm,
        size: u64,
        consumer: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Digest, Error> {
        let mut hasher = algorithm.hasher();
        let mut buffer = vec![0; PIECE];
        let mut left = size;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
            let read = self.decoder.read(&mut buffer[..length]);
            let read = read.map_err(|error| damaged(self.input.path(), entry, error))?;
            if read == 0 {
                return Err(damaged(
                    self.path(),
                    entry,
                    io::ErrorKind::UnexpectedEof.into(),
                ));
            }
            hasher.update(&buffer[..read]);
            consumer(&buffer[..read])?;
            left -= read as u64;
        }
        let padding = &mut buffer[..padding(size)];
        let read = self.decoder.read_exact(padding);
        read.map_err(|error| damaged(self.input.path(), entry, error))?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(self.refused(entry, Refused::Padding));
        }
        Ok(hasher.finish())
    }

    fn check_digest(&self, entry: &str, expected: &Digest, found: Digest) -> Result<(), Error> {
        if found == *expected {
            return Ok(());
        }
        Err(Error::Digest {
            path: self.path().to_owned(),
            entry: entry.to_owned(),
            expected: expected.clone(),
            found,
        })
    }
}

fn damaged(path: &Path, entry: &str, error: io::Error) -> Error {
    match error.downcast::<ChunkError>() {
        Ok(chunk) => chunk.into(),
        Err(source) => Error::Damaged {
            path: path.to_owned(),
            entry: entry.to_owned(),
            source,
        },
    }
}
