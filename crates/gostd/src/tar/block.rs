//! One block with a header, in any of the formats that Go knows.

use std::ops::Range;

use super::{Error, Header, c_string};
use crate::strconv;

pub(super) const BLOCK: usize = 512;

/// Fields of all formats.
const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const GID: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const MTIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: Range<usize> = 257..263;
const VERSION: Range<usize> = 263..265;
const DEVICE_MAJOR: Range<usize> = 329..337;
const DEVICE_MINOR: Range<usize> = 337..345;
const USTAR_PREFIX: Range<usize> = 345..500;
const STAR_PREFIX: Range<usize> = 345..476;
const STAR_TIMES: [Range<usize>; 2] = [476..488, 488..500];
const STAR_TRAILER: Range<usize> = 508..512;
const GNU_TIMES: [Range<usize>; 2] = [345..357, 357..369];
const GNU_SPARSE: Range<usize> = 386..483;
const GNU_REAL_SIZE: Range<usize> = 483..495;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    V7,
    /// Also the format of PAX.
    Ustar,
    Star,
    Gnu,
}

#[derive(Debug)]
pub(super) struct Block([u8; BLOCK]);

impl Default for Block {
    fn default() -> Self {
        Self([0; BLOCK])
    }
}

impl Block {
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// The format according to the magic values, if the checksum is right.
    pub(super) fn format(&self) -> Result<Format, Error> {
        let sum = parse_octal(&self.0[CHECKSUM])?;
        let (mut unsigned, mut signed) = (0_i64, 0_i64);
        for (index, byte) in self.0.iter().enumerate() {
            let byte = if CHECKSUM.contains(&index) {
                b' '
            } else {
                *byte
            };
            unsigned += i64::from(byte);
            signed += i64::from(byte.cast_signed());
        }
        if sum != unsigned && sum != signed {
            return Err(Error::Header);
        }
        Ok(match (&self.0[MAGIC], &self.0[VERSION]) {
            (b"ustar\0", _) if &self.0[STAR_TRAILER] == b"tar\0" => Format::Star,
            (b"ustar\0", _) => Format::Ustar,
            (b"ustar ", b" \0") => Format::Gnu,
            _ => Format::V7,
        })
    }

    /// The fields of the header. All numbers must be valid.
    pub(super) fn header(&self) -> Result<Header, Error> {
        let format = self.format()?;
        let size = self.number(SIZE)?;
        let mode = self.number(MODE)?;
        for field in [UID, GID, MTIME] {
            self.number(field)?;
        }
        let mut name = c_string(&self.0[NAME]).to_vec();
        if format != Format::V7 {
            self.number(DEVICE_MAJOR)?;
            self.number(DEVICE_MINOR)?;
            let prefix = self.prefix(format)?;
            if !prefix.is_empty() {
                name = [prefix, b"/", &name].concat();
            }
        }
        let kind = self.0[KIND];
        // Kinds without data may have a negative size.
        let size = match u64::try_from(size) {
            Ok(size) => size,
            Err(_) if super::is_header_only(kind) => 0,
            Err(_) => return Err(Error::Header),
        };
        Ok(Header {
            name,
            kind,
            size,
            mode,
        })
    }

    fn prefix(&self, format: Format) -> Result<&[u8], Error> {
        match format {
            Format::V7 => Ok(&[]),
            Format::Ustar => Ok(c_string(&self.0[USTAR_PREFIX])),
            Format::Star => {
                for field in STAR_TIMES {
                    self.number(field)?;
                }
                Ok(c_string(&self.0[STAR_PREFIX]))
            }
            Format::Gnu => {
                // Old versions of Go wrote a prefix where GNU has times.
                let are_times = GNU_TIMES
                    .iter()
                    .all(|field| self.0[field.start] == 0 || self.number(field.clone()).is_ok());
                let prefix = c_string(&self.0[USTAR_PREFIX]);
                Ok(if are_times || !prefix.is_ascii() {
                    &[]
                } else {
                    prefix
                })
            }
        }
    }

    fn number(&self, field: Range<usize>) -> Result<i64, Error> {
        parse_numeric(&self.0[field])
    }

    /// The size of a sparse file in the old format of GNU.
    pub(super) fn real_size(&self) -> Result<i64, Error> {
        self.number(GNU_REAL_SIZE)
    }

    /// The part of the sparse map that is in the header.
    pub(super) fn sparse_map(&self) -> &[u8] {
        &self.0[GNU_SPARSE]
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A number in base 256 if the first bit is set, else in base 8.
pub(super) fn parse_numeric(field: &[u8]) -> Result<i64, Error> {
    if field.first().is_none_or(|first| first & 0x80 == 0) {
        return parse_octal(field);
    }
    // A negative number is the complement of what its inverted bits are.
    let is_negative = field[0] & 0x40 != 0;
    let mut number = 0_u64;
    for (index, byte) in field.iter().enumerate() {
        let byte = if is_negative { !byte } else { *byte };
        let byte = if index == 0 { byte & 0x7f } else { byte };
        if number >> 56 > 0 {
            return Err(Error::Header);
        }
        number = number << 8 | u64::from(byte);
    }
    let number = i64::try_from(number).map_err(|_| Error::Header)?;
    Ok(if is_negative { !number } else { number })
}

fn parse_octal(field: &[u8]) -> Result<i64, Error> {
    let is_padding = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field.iter().position(|byte| !is_padding(byte));
    let Some(start) = start else { return Ok(0) };
    let end = field.iter().rposition(|byte| !is_padding(byte));
    let digits = c_string(&field[start..=end.unwrap_or(start)]);
    let number = strconv::parse_uint(digits, 8).map_err(|_| Error::Header)?;
    Ok(number.cast_signed())
}
