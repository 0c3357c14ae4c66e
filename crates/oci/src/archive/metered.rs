//! A reader with a limit that is set again before each header of a tar. Names and extended headers are read whole, whatever
//! size an archive says that they have.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the headers of one entry. Those of Go's `archive/tar` are below 1 MiB each.
const MAX_HEADER: u64 = 4 << 20;

/// What may still be read.
#[derive(Debug)]
pub(super) struct Meter(Cell<u64>);

pub(super) struct Metered<'m, R> {
    inner: R,
    meter: &'m Meter,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self(Cell::new(MAX_HEADER))
    }

    pub(super) fn reader<R>(&self, inner: R) -> Metered<'_, R> {
        Metered { inner, meter: self }
    }

    /// The next reads are those of the headers of an entry.
    pub(super) fn expect_header(&self) {
        self.0.set(MAX_HEADER);
    }

    /// The next reads are those of the content of an entry.
    pub(super) fn expect_content(&self) {
        self.0.set(u64::MAX);
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.meter.0.get().checked_sub(read as u64);
        let left = left.ok_or_else(|| io::Error::other("the header of an entry is too long"))?;
        self.meter.0.set(left);
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<'_, R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}
