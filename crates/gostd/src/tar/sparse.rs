//! Sparse files: where their data belongs, in the old format of GNU and in the versions of its PAX format.

use std::io::Read;
use std::ops::Range;

use super::block::{BLOCK, Block, Format, parse_numeric};
use super::pax::{Records, SPARSE_MAP, integer};
use super::{Error, Header, MAX_SPECIAL_FILE, Reader};

/// The size of one entry in the old format: two numbers of twelve bytes.
const OLD_ENTRY: usize = 24;

/// A part of a sparse file that is not a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fragment {
    offset: i64,
    length: i64,
}

impl Fragment {
    /// The position in the file.
    pub(super) fn range(self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        Some(start..start.checked_add(usize::try_from(self.length).ok()?)?)
    }
}

/// Whether fragments are in order and inside of the file.
pub(super) fn is_valid(fragments: &[Fragment], size: u64) -> bool {
    let mut end = 0;
    fragments.iter().all(|fragment| {
        let Fragment { offset, length } = *fragment;
        if offset < end || length < 0 {
            return false;
        }
        let Some(next) = offset.checked_add(length) else {
            return false;
        };
        end = next;
        u64::try_from(next).is_ok_and(|end| end <= size)
    })
}

impl<R: Read> Reader<R> {
    /// The map of the old format: in the header, and in blocks that follow it.
    pub(super) fn read_old_sparse_map(
        &mut self,
        header: &mut Header,
        block: &Block,
    ) -> Result<Vec<Fragment>, Error> {
        if block.format()? != Format::Gnu {
            return Err(Error::Header);
        }
        header.size = u64::try_from(block.real_size()?).map_err(|_| Error::Header)?;
        let mut fragments = Vec::new();
        let mut total = block.sparse_map().len();
        let mut is_extended = read_old_entries(block.sparse_map(), &mut fragments)?;
        while is_extended {
            let block = self.read_full_block()?.ok_or_else(Error::unexpected_eof)?;
            total += BLOCK;
            if total >= MAX_SPECIAL_FILE {
                return Err(Error::SparseTooLong);
            }
            is_extended = read_old_entries(block.bytes(), &mut fragments)?;
        }
        Ok(fragments)
    }

    /// The map of the PAX formats; `None` for a file that is not sparse.
    pub(super) fn read_sparse_map(
        &mut self,
        header: &mut Header,
        records: &Records,
    ) -> Result<Option<Vec<Fragment>>, Error> {
        let version = (
            records.get(b"GNU.sparse.major"),
            records.get(b"GNU.sparse.minor"),
        );
        let is_inline = match version {
            (b"0", b"0" | b"1") => false,
            (b"1", b"0") => true,
            (b"", b"") if !records.get(SPARSE_MAP).is_empty() => false,
            _ => return Ok(None),
        };
        let name = records.get(b"GNU.sparse.name");
        if !name.is_empty() {
            header.name = name.to_vec();
        }
        let sizes = [b"GNU.sparse.size".as_slice(), b"GNU.sparse.realsize"];
        let size = sizes.map(|key| records.get(key));
        if let Some(size) = size.iter().find(|size| !size.is_empty()) {
            header.size = u64::try_from(integer(size)?).map_err(|_| Error::Header)?;
        }
        let fragments = if is_inline {
            self.read_inline_map()?
        } else {
            let map = records.get(SPARSE_MAP);
            let numbers: Vec<&[u8]> = map.split(|byte| *byte == b',').collect();
            let numbers = if map.is_empty() { Vec::new() } else { numbers };
            let count = count(records.get(b"GNU.sparse.numblocks"))?;
            if count.checked_mul(2) != Some(numbers.len()) {
                return Err(Error::Header);
            }
            fragments(&numbers)?
        };
        Ok(Some(fragments))
    }

    /// The map of version 1.0: lines before the data, up to the end of their last block.
    fn read_inline_map(&mut self) -> Result<Vec<Fragment>, Error> {
        let mut text = Vec::new();
        self.read_lines(&mut text, 1)?;
        let count = count(text.split(|byte| *byte == b'\n').next().unwrap_or_default())?;
        let numbers = count.checked_mul(2).ok_or(Error::Header)?;
        self.read_lines(&mut text, numbers.saturating_add(1))?;
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        fragments(&lines[1..=numbers])
    }

    /// Reads blocks until there are that many lines.
    fn read_lines(&mut self, text: &mut Vec<u8>, count: usize) -> Result<(), Error> {
        let mut lines = memchr::memchr_iter(b'\n', text).count();
        while lines < count {
            if text.len() + BLOCK > MAX_SPECIAL_FILE {
                return Err(Error::SparseTooLong);
            }
            let mut block = [0; BLOCK];
            self.read_data(&mut block)?;
            lines += memchr::memchr_iter(b'\n', &block).count();
            text.extend_from_slice(&block);
        }
        Ok(())
    }
}

/// Reads entries up to an empty one. Returns whether there is another block of them.
fn read_old_entries(map: &[u8], fragments: &mut Vec<Fragment>) -> Result<bool, Error> {
    let (entries, rest) = map.as_chunks::<OLD_ENTRY>();
    for entry in entries.iter().take_while(|entry| entry[0] != 0) {
        fragments.push(Fragment {
            offset: parse_numeric(&entry[..OLD_ENTRY / 2])?,
            length: parse_numeric(&entry[OLD_ENTRY / 2..])?,
        });
    }
    Ok(rest.first().is_some_and(|flag| *flag > 0))
}

fn fragments(numbers: &[&[u8]]) -> Result<Vec<Fragment>, Error> {
    let (pairs, _) = numbers.as_chunks::<2>();
    let fragment = |[offset, length]: &[&[u8]; 2]| {
        Ok(Fragment {
            offset: integer(offset)?,
            length: integer(length)?,
        })
    };
    pairs.iter().map(fragment).collect()
}

fn count(text: &[u8]) -> Result<usize, Error> {
    usize::try_from(integer(text)?).map_err(|_| Error::Header)
}
