//! Reads a `.tgz` while it streams, and refuses what could do harm: paths that escape, links, devices, and
//! anything that expands beyond Helm's limits.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, EntryType};

use crate::chart::File;
use crate::go_path;
use crate::profile::Profile;

/// All files of a chart together, expanded.
pub const MAX_TOTAL: u64 = 100 * 1024 * 1024;
/// One file, expanded.
pub const MAX_FILE: u64 = 5 * 1024 * 1024;
/// Headers and padding come on top of the files; this much raw tar is read at most.
const MAX_STREAM: u64 = 2 * MAX_TOTAL;

#[derive(Debug, thiserror::Error)]
pub enum Error {
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

/// How many bytes may still be expanded.
#[derive(Debug)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_TOTAL)
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
    if archive.len() >= 3 && !archive.starts_with(&[0x1f, 0x8b, 0x08]) {
        return Err(Error::Header);
    }
    let limit_name = profile.rules().total_limit_name;
    let too_large = || Error::TooLarge { limit_name };
    let stream = MultiGzDecoder::new(archive).take(MAX_STREAM);
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
        if size > budget.0 {
            return Err(too_large());
        }
        if size > MAX_FILE {
            return Err(Error::FileTooLarge(path));
        }
        let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let read = entry
            .by_ref()
            .take(budget.0)
            .read_to_end(&mut data)
            .map_err(Error::Read)? as u64;
        budget.0 -= read;
        if read < size || budget.0 == 0 {
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

/// The path inside the chart, or why it may not be used.
fn chart_path(path: &str) -> Result<String, Error> {
    let delimiter = if path.contains('\\') { '\\' } else { '/' };
    let (first, rest) = path.split_once(delimiter).unwrap_or((path, ""));
    let rest = rest.replace(delimiter, "/");
    if rest.starts_with('/') {
        return Err(Error::AbsolutePath);
    }
    let name = go_path::clean(&rest);
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
