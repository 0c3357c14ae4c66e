//! `archive/tar`: reads an archive entry by entry, and rejects what Go rejects.
//!
//! Archives must mean the same here and in Helm, so extended headers, sparse files and invalid numbers are handled as
//! in Go's reader. What an entry costs is limited by the caller, through the stream.

mod block;
mod pax;
mod sparse;

use std::io::{self, ErrorKind, Read};

use block::{BLOCK, Block};
use pax::Records;
use sparse::Fragment;

/// The maximum size of an extended header, a long name or a sparse map.
const MAX_SPECIAL_FILE: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("archive/tar: invalid tar header")]
    Header,
    #[error("archive/tar: header field too long")]
    FieldTooLong,
    #[error("archive/tar: sparse map too long")]
    SparseTooLong,
    #[error("archive/tar: sparse file references non-existent data")]
    MissingData,
    #[error("archive/tar: sparse file contains unreferenced data")]
    UnreferencedData,
    #[error(transparent)]
    Read(#[from] io::Error),
}

impl Error {
    fn unexpected_eof() -> Self {
        Self::Read(ErrorKind::UnexpectedEof.into())
    }
}

/// The `Typeflag` of a header.
pub mod kind {
    pub const REGULAR: u8 = b'0';
    pub const LINK: u8 = b'1';
    pub const SYMLINK: u8 = b'2';
    pub const CHAR: u8 = b'3';
    pub const BLOCK: u8 = b'4';
    pub const DIRECTORY: u8 = b'5';
    pub const FIFO: u8 = b'6';
    pub const CONTINUOUS: u8 = b'7';
    pub const EXTENDED: u8 = b'x';
    pub const GLOBAL: u8 = b'g';
    pub const GNU_SPARSE: u8 = b'S';
    pub const GNU_LONG_NAME: u8 = b'L';
    pub const GNU_LONG_LINK: u8 = b'K';
    /// A regular file, or a folder if its name ends with a slash, in old archives.
    pub(super) const OLD_REGULAR: u8 = 0;
}

/// The header of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: Vec<u8>,
    /// One of [`kind`], or unknown.
    pub kind: u8,
    /// The size of the file, including the holes of a sparse file.
    pub size: u64,
    mode: i64,
}

impl Header {
    /// `header.FileInfo().IsDir()`
    pub fn is_dir(&self) -> bool {
        const TYPE: i64 = !0o7777;
        const DIRECTORY: i64 = 0o40000;
        self.kind == kind::DIRECTORY || self.mode & TYPE == DIRECTORY
    }
}

/// `tar.Reader`
#[derive(Debug)]
pub struct Reader<R> {
    stream: R,
    /// The bytes of the current entry that are left in the stream.
    remaining: u64,
    /// The bytes from the end of the current entry to the next block.
    padding: u64,
    /// The size of the current file.
    size: u64,
    /// Where the data of a sparse file belongs.
    fragments: Option<Vec<Fragment>>,
}

impl<R: Read> Reader<R> {
    pub fn new(stream: R) -> Self {
        Self {
            stream,
            remaining: 0,
            padding: 0,
            size: 0,
            fragments: None,
        }
    }

    /// The next entry; `None` at the end of the archive.
    pub fn next_entry(&mut self) -> Result<Option<Header>, Error> {
        let mut records = Records::default();
        let mut long_name = Vec::new();
        loop {
            if !self.skip_entry()? {
                return Ok(None);
            }
            let Some(block) = self.read_block()? else {
                return Ok(None);
            };
            let mut header = block.header()?;
            self.start_file(&header);
            match header.kind {
                kind::EXTENDED | kind::GLOBAL => {
                    records = Records::parse(&self.read_special_file()?)?;
                    if header.kind == kind::GLOBAL {
                        header.size = 0;
                        return Ok(Some(header));
                    }
                }
                kind::GNU_LONG_NAME => long_name = c_string(&self.read_special_file()?).to_vec(),
                kind::GNU_LONG_LINK => {
                    self.read_special_file()?;
                }
                _ => {
                    records.merge_into(&mut header)?;
                    if !long_name.is_empty() {
                        header.name = long_name;
                    }
                    self.finish_header(&mut header, &block, &records)?;
                    return Ok(Some(header));
                }
            }
        }
    }

    /// Reads the current file. The caller has checked its size.
    pub fn read_file(&mut self) -> Result<Vec<u8>, Error> {
        let size = usize::try_from(self.size).map_err(|_| Error::FieldTooLong)?;
        let mut data = vec![0; size];
        let Some(fragments) = self.fragments.take() else {
            self.read_data(&mut data)?;
            return Ok(data);
        };
        for fragment in fragments {
            let part = fragment.range().and_then(|range| data.get_mut(range));
            let part = part.ok_or(Error::Header)?;
            if part.len() as u64 > self.remaining {
                return Err(Error::MissingData);
            }
            self.read_data(part)?;
        }
        if self.remaining > 0 {
            return Err(Error::UnreferencedData);
        }
        Ok(data)
    }

    /// What extended headers change about an entry, and the map of a sparse file.
    fn finish_header(
        &mut self,
        header: &mut Header,
        block: &Block,
        records: &Records,
    ) -> Result<(), Error> {
        if header.kind == kind::OLD_REGULAR {
            header.kind = if header.name.ends_with(b"/") {
                kind::DIRECTORY
            } else {
                kind::REGULAR
            };
        }
        self.start_file(header);
        let fragments = if header.kind == kind::GNU_SPARSE {
            Some(self.read_old_sparse_map(header, block)?)
        } else {
            self.read_sparse_map(header, records)?
        };
        if let Some(fragments) = &fragments
            && (is_header_only(header.kind) || !sparse::is_valid(fragments, header.size))
        {
            return Err(Error::Header);
        }
        self.fragments = fragments;
        self.size = if is_header_only(header.kind) {
            0
        } else {
            header.size
        };
        Ok(())
    }

    fn start_file(&mut self, header: &Header) {
        let size = if is_header_only(header.kind) {
            0
        } else {
            header.size
        };
        self.size = size;
        self.remaining = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        self.fragments = None;
    }

    /// Skips what is left of the current entry. Returns whether there is more: the last padding may be missing.
    fn skip_entry(&mut self) -> Result<bool, Error> {
        let skipped = io::copy(
            &mut (&mut self.stream).take(self.remaining),
            &mut io::sink(),
        )?;
        if skipped < self.remaining {
            return Err(Error::unexpected_eof());
        }
        let padding = io::copy(&mut (&mut self.stream).take(self.padding), &mut io::sink())?;
        let is_complete = padding == self.padding;
        (self.remaining, self.padding) = (0, 0);
        Ok(is_complete)
    }

    /// The next block with a header; `None` at the end of the stream or after zeros.
    fn read_block(&mut self) -> Result<Option<Block>, Error> {
        let Some(block) = self.read_full_block()? else {
            return Ok(None);
        };
        if !block.is_zero() {
            return Ok(Some(block));
        }
        match self.read_full_block()? {
            Some(block) if !block.is_zero() => Err(Error::Header),
            _ => Ok(None),
        }
    }

    fn read_full_block(&mut self) -> Result<Option<Block>, Error> {
        let mut block = Block::default();
        let read = read_full(&mut self.stream, block.bytes_mut())?;
        match read {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(Error::unexpected_eof()),
        }
    }

    /// Reads from the data of the current entry.
    fn read_data(&mut self, data: &mut [u8]) -> Result<(), Error> {
        let wanted = data.len() as u64;
        if wanted > self.remaining || read_full(&mut self.stream, data)? < data.len() {
            return Err(Error::unexpected_eof());
        }
        self.remaining -= wanted;
        Ok(())
    }

    /// Reads the current entry, which extends the header of the next one.
    fn read_special_file(&mut self) -> Result<Vec<u8>, Error> {
        let limit = MAX_SPECIAL_FILE as u64 + 1;
        let wanted = self.remaining.min(limit);
        let mut data = Vec::new();
        let read = (&mut self.stream).take(wanted).read_to_end(&mut data)?;
        self.remaining -= read as u64;
        if read > MAX_SPECIAL_FILE {
            return Err(Error::FieldTooLong);
        }
        if (read as u64) < wanted {
            return Err(Error::unexpected_eof());
        }
        Ok(data)
    }
}

/// Fills the buffer. Returns less than its length at the end of the stream.
fn read_full(stream: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<usize> {
    let mut total = 0;
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => break,
            Ok(read) => {
                total += read;
                buffer = &mut buffer[read..];
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}

/// Whether entries of a kind have no data, whatever size their header has.
fn is_header_only(kind: u8) -> bool {
    matches!(
        kind,
        kind::LINK | kind::SYMLINK | kind::CHAR | kind::BLOCK | kind::DIRECTORY | kind::FIFO
    )
}

/// The bytes up to the first zero.
fn c_string(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests;
