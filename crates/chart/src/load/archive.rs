//! Reads a `.tgz` as a stream. Rejects paths outside the chart, links, devices, and archives that exceed Helm's size
//! limits.

use std::io::{ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, EntryType};

use crate::chart::File;
use crate::profile::Profile;
use outrigger_gostd::path;

/// The maximum decompressed size of a chart.
pub const MAX_TOTAL: u64 = 100 * 1024 * 1024;
/// The maximum size of a file.
pub const MAX_FILE: u64 = 5 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("EOF")]
    NoBytes,
    #[error("gzip: invalid header")]
    Header,
    #[error("{}", crate::go_io::describe(.0))]
    Read(#[source] std::io::Error),
    #[error("chart illegally contains absolute paths")]
    AbsolutePath,
    #[error("chart illegally contains content outside the base directory: {0:?}")]
    Outside(String),
    #[error("chart illegally references parent directory")]
    ParentPath,
    #[error("chart contains illegally named files")]
    DrivePath,
    #[error("chart yaml not in base directory")]
    ChartNotInBase,
    #[error("chart archive contains {0:?}, which is a link or a device")]
    NotAFile(String),
    #[error("decompressed chart is larger than the {limit_name} {MAX_TOTAL}")]
    TooLarge { limit_name: &'static str },
    #[error("decompressed chart file {0:?} is larger than the maximum file size {MAX_FILE}")]
    FileTooLarge(String),
    #[error("no files in chart archive")]
    Empty,
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoChart,
}

/// The number of bytes that may still be decompressed.
#[derive(Debug)]
pub(super) struct Budget {
    files: u64,
    /// Including headers and padding.
    stream: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            files: MAX_TOTAL,
            stream: 2 * MAX_TOTAL,
        }
    }
}

/// The files of a chart archive, without their first path element.
pub fn read(archive: &[u8], profile: Profile) -> Result<Vec<File>, Error> {
    read_within(archive, profile, &mut Budget::default())
}

pub(super) fn read_within(
    archive: &[u8],
    profile: Profile,
    budget: &mut Budget,
) -> Result<Vec<File>, Error> {
    if archive.is_empty() {
        return Err(Error::NoBytes);
    }
    // A gzip header has ten bytes. Go reads all of them before it checks the first.
    if archive.len() < 10 {
        return Err(Error::Read(ErrorKind::UnexpectedEof.into()));
    }
    if !archive.starts_with(&[0x1f, 0x8b, 0x08]) {
        return Err(Error::Header);
    }
    let limit_name = profile.rules().total_limit_name;
    let too_large = || Error::TooLarge { limit_name };
    let stream = MultiGzDecoder::new(archive).take(budget.stream);
    let mut tar = Archive::new(stream);
    let mut files = Vec::new();
    for entry in tar.entries().map_err(Error::Read)? {
        let mut entry = entry.map_err(Error::Read)?;
        let kind = entry.header().entry_type();
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if kind == EntryType::Directory || path.ends_with('/') {
            continue;
        }
        if kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        if !matches!(
            kind,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse
        ) {
            return Err(Error::NotAFile(path));
        }
        let name = chart_path(&path)?;
        let size = entry.size();
        if size > budget.files {
            return Err(too_large());
        }
        if size > MAX_FILE {
            return Err(Error::FileTooLarge(path));
        }
        let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let read = entry
            .by_ref()
            .take(budget.files)
            .read_to_end(&mut data)
            .map_err(Error::Read)? as u64;
        budget.files -= read;
        if read < size || budget.files == 0 {
            return Err(too_large());
        }
        strip_byte_order_mark(&mut data);
        files.push(File::new(name, data));
    }
    if files.is_empty() {
        return Err(Error::Empty);
    }
    Ok(files)
}

/// The path inside the chart.
fn chart_path(path: &str) -> Result<String, Error> {
    let delimiter = if path.contains('\\') { '\\' } else { '/' };
    let (first, rest) = path.split_once(delimiter).unwrap_or((path, ""));
    let rest = rest.replace(delimiter, "/");
    if rest.starts_with('/') {
        return Err(Error::AbsolutePath);
    }
    let name = path::clean(&rest);
    if name == "." {
        return Err(Error::Outside(path.to_owned()));
    }
    if name.starts_with("..") {
        return Err(Error::ParentPath);
    }
    let bytes = name.as_bytes();
    if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/" {
        return Err(Error::DrivePath);
    }
    if first == "Chart.yaml" {
        return Err(Error::ChartNotInBase);
    }
    Ok(name)
}

pub(super) fn strip_byte_order_mark(data: &mut Vec<u8>) {
    if data.starts_with(b"\xef\xbb\xbf") {
        data.drain(..3);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    fn entry(name: &[u8], kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        header
    }

    #[test]
    fn rejects_files_over_the_total_limit() {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for name in [b"c/a", b"c/b", b"c/d"] {
            tar.append(&entry(name, EntryType::Regular, 4), &b"data"[..])
                .unwrap();
        }
        let bytes = tar.into_inner().unwrap().finish().unwrap();
        for (files, is_rejected) in [(11, true), (12, true), (13, false)] {
            let mut budget = Budget {
                files,
                stream: 1 << 20,
            };
            let result = read_within(&bytes, Profile::Helm4, &mut budget);
            assert_eq!(result.is_err(), is_rejected, "{files}");
        }
    }

    #[test]
    fn rejects_an_endless_name_at_the_stream_limit() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let header = entry(b"././@LongLink", EntryType::GNULongName, 8 << 30);
        gzip.write_all(header.as_bytes()).unwrap();
        gzip.write_all(&vec![b'x'; 1 << 16]).unwrap();
        let bytes = gzip.finish().unwrap();
        let mut budget = Budget {
            files: 1 << 20,
            stream: 1 << 15,
        };
        assert!(read_within(&bytes, Profile::Helm4, &mut budget).is_err());
    }
}
