//! Writes a built package. The same entries yield the same bytes: fixed settings, one thread, no times, no users.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use outrigger_oci::{Algorithm, Digest, Hasher};
use zstd::stream::write::Encoder;

use super::LEVEL;
use super::error::Error;
use super::header::{self, padding};
use super::output::Output;
use super::read::{Discard, Reader};
use crate::layout::{LOCK, ROOT, SIGNATURES};

/// The mode of the documents that describe a package.
pub(super) const DOCUMENT_MODE: u32 = 0o644;

/// The size of the trailer: a magic number, the size of the rest, and a digest as text.
pub(super) const TRAILER: u32 = 8 + 71;

/// The magic number of a frame that decoders of zstd skip.
const TRAILER_MAGIC: u32 = 0x184D_2A5E;

/// A package that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file, or the chunks.
    pub paths: Vec<PathBuf>,
    /// The bytes of the package, without the headers of chunks.
    pub size: u64,
}

/// Writes a package entry by entry. Nothing has the name of the package before `finish`.
pub(crate) struct Writer {
    encoder: Encoder<'static, HashedOutput>,
}

/// An output, and the digest of what was written.
#[derive(Debug)]
struct HashedOutput {
    output: Output,
    hasher: Hasher,
    size: u64,
}

impl Write for HashedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl HashedOutput {
    fn create(target: &Path, chunk_size: Option<u64>) -> io::Result<Self> {
        Ok(Self {
            output: Output::create(target, chunk_size)?,
            hasher: Algorithm::Sha256.hasher(),
            size: 0,
        })
    }

    /// Ends the package with the digest of what was written.
    fn finish(mut self) -> io::Result<Written> {
        let digest = self.hasher.clone().finish();
        self.write_all(&trailer(&digest))?;
        let paths = self.output.finish(&digest)?;
        Ok(Written {
            paths,
            size: self.size,
        })
    }
}

/// A frame that decoders of zstd skip, with a digest.
fn trailer(digest: &Digest) -> Vec<u8> {
    let bytes = digest.to_string().into_bytes();
    let mut trailer = TRAILER_MAGIC.to_le_bytes().to_vec();
    trailer.extend_from_slice(&(TRAILER - 8).to_le_bytes());
    trailer.extend_from_slice(&bytes);
    trailer
}

/// The digest of a trailer.
pub(super) fn parse_trailer(bytes: &[u8]) -> Option<Digest> {
    let rest = bytes.strip_prefix(&TRAILER_MAGIC.to_le_bytes())?;
    let digest = rest.strip_prefix(&(TRAILER - 8).to_le_bytes())?;
    std::str::from_utf8(digest).ok()?.parse().ok()
}

impl Writer {
    /// Begins a package with the documents that describe it.
    pub(crate) fn create(
        target: &Path,
        chunk_size: Option<u64>,
        documents: Documents<'_>,
    ) -> io::Result<Self> {
        let mut output = HashedOutput::create(target, chunk_size)?;
        output.write_all(&head(documents.root.as_bytes(), documents.signatures)?)?;
        let mut writer = Self {
            encoder: encoder(output)?,
        };
        let lock = documents.lock.as_bytes();
        writer.begin(LOCK, DOCUMENT_MODE, lock.len() as u64)?;
        writer.data(lock)?;
        writer.end(lock.len() as u64)?;
        Ok(writer)
    }

    /// Begins an entry.
    pub(crate) fn begin(&mut self, path: &str, mode: u32, size: u64) -> io::Result<()> {
        self.encoder.write_all(&header::of_file(path, mode, size)?)
    }

    pub(crate) fn data(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.encoder.write_all(bytes)
    }

    /// Ends an entry of this size.
    pub(crate) fn end(&mut self, size: u64) -> io::Result<()> {
        self.encoder.write_all(&vec![0; padding(size)])
    }

    /// Ends the package, and gives it its name.
    pub(crate) fn finish(mut self) -> io::Result<Written> {
        self.encoder.write_all(&[0; 2 * header::BLOCK])?;
        self.encoder.finish()?.finish()
    }
}

/// The documents that describe a package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Documents<'d> {
    pub(crate) root: &'d str,
    pub(crate) signatures: Option<&'d str>,
    pub(crate) lock: &'d str,
}

fn encoder<W: Write>(output: W) -> io::Result<Encoder<'static, W>> {
    let mut encoder = Encoder::new(output, LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// The first frame: the root document and its signatures.
fn head(root: &[u8], signatures: Option<&str>) -> io::Result<Vec<u8>> {
    let mut encoder = encoder(Vec::new())?;
    let signatures = signatures.map(|text| (SIGNATURES, text.as_bytes()));
    for (path, text) in [(ROOT, root)].into_iter().chain(signatures) {
        let size = text.len() as u64;
        encoder.write_all(&header::of_file(path, DOCUMENT_MODE, size)?)?;
        encoder.write_all(text)?;
        encoder.write_all(&vec![0; padding(size)])?;
    }
    encoder.finish()
}

/// Verifies a package, and writes it again with other signatures. What follows its first frame, up to the trailer, is
/// copied as it is. Of a delta only what it carries is verified.
pub fn resign(package: Reader, signatures: &str) -> Result<Written, Error> {
    let input = package.input().clone();
    let path = input.path();
    if !input.is_file() {
        return Err(Error::InChunks(path.to_owned()));
    }
    let body_offset = package.body_offset();
    let root = head(package.root_bytes(), Some(signatures));
    package.read_carried(&mut Discard)?;
    let failed = |error| Error::io(path, error);
    let mut source = input.open()?;
    io::copy(&mut (&mut source).take(body_offset), &mut io::sink()).map_err(failed)?;
    let mut output = HashedOutput::create(path, None).map_err(failed)?;
    output.write_all(&root.map_err(failed)?).map_err(failed)?;
    let body = input
        .len()
        .saturating_sub(body_offset)
        .saturating_sub(u64::from(TRAILER));
    let copied = io::copy(&mut source.take(body), &mut output).map_err(failed)?;
    if copied < body {
        return Err(failed(io::ErrorKind::UnexpectedEof.into()));
    }
    output.finish().map_err(failed)
}
