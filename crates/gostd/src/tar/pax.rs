//! The records of an extended header.

use std::collections::HashMap;

use super::{Error, Header, is_header_only};
use crate::strconv;

const SPARSE_OFFSET: &[u8] = b"GNU.sparse.offset";
const SPARSE_NUM_BYTES: &[u8] = b"GNU.sparse.numbytes";
pub(super) const SPARSE_MAP: &[u8] = b"GNU.sparse.map";

/// The last value of each key.
#[derive(Debug, Default)]
pub(super) struct Records(HashMap<Vec<u8>, Vec<u8>>);

impl Records {
    pub(super) fn parse(mut rest: &[u8]) -> Result<Self, Error> {
        let mut records = HashMap::new();
        // Version 0.0 of sparse files repeats keys. It is converted to version 0.1.
        let mut sparse_map: Vec<&[u8]> = Vec::new();
        while !rest.is_empty() {
            let (key, value, residual) = record(rest).ok_or(Error::Header)?;
            rest = residual;
            if key == SPARSE_OFFSET || key == SPARSE_NUM_BYTES {
                let expected = if sparse_map.len().is_multiple_of(2) {
                    SPARSE_OFFSET
                } else {
                    SPARSE_NUM_BYTES
                };
                if key != expected || value.contains(&b',') {
                    return Err(Error::Header);
                }
                sparse_map.push(value);
            } else {
                records.insert(key.to_vec(), value.to_vec());
            }
        }
        if !sparse_map.is_empty() {
            records.insert(SPARSE_MAP.to_vec(), sparse_map.join(&b','));
        }
        Ok(Self(records))
    }

    /// The value of a key; empty if there is none.
    pub(super) fn get(&self, key: &[u8]) -> &[u8] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// Changes the fields of a header. All records that are known must be valid.
    pub(super) fn merge_into(&self, header: &mut Header) -> Result<(), Error> {
        for (key, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            match key.as_slice() {
                b"path" => header.name.clone_from(value),
                b"uid" | b"gid" => {
                    integer(value)?;
                }
                b"atime" | b"mtime" | b"ctime" => check_time(value)?,
                b"size" => {
                    let size = integer(value)?;
                    header.size = match u64::try_from(size) {
                        Ok(size) => size,
                        Err(_) if is_header_only(header.kind) => 0,
                        Err(_) => return Err(Error::Header),
                    };
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// `strconv.ParseInt(value, 10, 64)`
pub(super) fn integer(value: &[u8]) -> Result<i64, Error> {
    strconv::parse_int(value, 10).map_err(|_| Error::Header)
}

/// Seconds with optional decimals.
fn check_time(value: &[u8]) -> Result<(), Error> {
    let mut parts = value.splitn(2, |byte| *byte == b'.');
    integer(parts.next().unwrap_or_default())?;
    let decimals = parts.next().unwrap_or_default();
    if decimals.iter().all(u8::is_ascii_digit) {
        Ok(())
    } else {
        Err(Error::Header)
    }
}

/// Splits `LENGTH KEY=VALUE\n` off the records.
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = memchr::memchr(b' ', records)?;
    let length = usize::try_from(integer(&records[..space]).ok()?).ok()?;
    if length < 5 || length > records.len() || length <= space + 1 {
        return None;
    }
    let (record, residual) = records.split_at(length);
    let record = record[space + 1..].strip_suffix(b"\n")?;
    let equals = memchr::memchr(b'=', record)?;
    let (key, value) = (&record[..equals], &record[equals + 1..]);
    let is_text = matches!(key, b"path" | b"linkpath" | b"uname" | b"gname");
    let is_valid = !key.is_empty() && !(if is_text { value } else { key }).contains(&0);
    is_valid.then_some((key, value, residual))
}
