//! Reads a `.tgz` as a stream. Rejects paths outside the chart, links, devices, and archives that exceed a limit.
//!
//! Helm limits the size of files only. The other limits are far above what a chart within Helm's limits needs; they bound
//! what headers, names and compression cost.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use outrigger_gostd::path;
use outrigger_gostd::tar::{self, Header, Reader, kind};

use crate::chart::File;
use crate::profile::Profile;

/// The maximum size of an archive.
pub const MAX_ARCHIVE: u64 = 128 * MIB;
/// The maximum decompressed size of all files, as in Helm.
pub const MAX_TOTAL: u64 = 100 * MIB;
/// The maximum size of a file, as in Helm.
pub const MAX_FILE: u64 = 5 * MIB;
/// The maximum number of entries.
pub const MAX_ENTRIES: u64 = 500_000;

const MIB: u64 = 1024 * 1024;
/// The maximum size of the headers of an entry. Go's limit is 1 MiB for each of up to three.
const MAX_HEADER: u64 = 4 * MIB;
/// The maximum size of all names.
const MAX_NAMES: u64 = 64 * MIB;
/// The maximum decompressed size, including headers and padding.
const MAX_STREAM: u64 = 1024 * MIB;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("EOF")]
    NoBytes,
    #[error("gzip: invalid header")]
    Header,
    #[error("{}", crate::go_io::describe(.0))]
    Read(#[source] io::Error),
    #[error(transparent)]
    Tar(tar::Error),
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
    #[error(transparent)]
    Limit(Limit),
    #[error("no files in chart archive")]
    Empty,
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoChart,
}

/// A limit that Helm does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    #[error("chart archive is larger than the maximum size {MAX_ARCHIVE}")]
    Archive,
    #[error("chart archive has more than {MAX_ENTRIES} entries")]
    Entries,
    #[error("the names in the chart archive are longer than {MAX_NAMES} bytes in total")]
    Names,
    #[error("archive/tar: header field too long")]
    Header,
    #[error("decompressed chart archive is larger than the maximum size {MAX_STREAM}")]
    Stream,
}

/// What may still be read.
#[derive(Debug)]
pub(super) struct Budget {
    /// The contents of files.
    files: u64,
    entries: u64,
    names: u64,
    /// All decompressed bytes.
    stream: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            files: MAX_TOTAL,
            entries: MAX_ENTRIES,
            names: MAX_NAMES,
            stream: MAX_STREAM,
        }
    }
}

/// The files of a chart archive, without their first path element.
pub fn read(archive: &[u8], profile: Profile) -> Result<Vec<File>, Error> {
    read_within(archive, profile, &mut Budget::default())
}

/// The first path element of the first file in an archive that [`read`] accepts.
pub fn top_folder(archive: &[u8]) -> Option<String> {
    let mut tar = Reader::new(MultiGzDecoder::new(archive));
    loop {
        let header = tar.next_entry().ok()??;
        if is_file(&header) {
            let path = String::from_utf8_lossy(&header.name).into_owned();
            let (first, _) = path.split_once(['/', '\\'])?;
            return Some(first.to_owned());
        }
    }
}

pub(super) fn read_within(
    archive: &[u8],
    profile: Profile,
    budget: &mut Budget,
) -> Result<Vec<File>, Error> {
    check_gzip(archive)?;
    let header = Cell::new(MAX_HEADER);
    let stream = Cell::new(budget.stream);
    let mut tar = Reader::new(Metered {
        inner: MultiGzDecoder::new(archive),
        meters: [(&header, Limit::Header), (&stream, Limit::Stream)],
    });
    let mut files = Vec::new();
    loop {
        // This reads the headers of an entry, and what is left of the previous one.
        header.set(MAX_HEADER);
        let Some(entry) = tar.next_entry().map_err(Error::of_tar)? else {
            break;
        };
        header.set(u64::MAX);
        take(&mut budget.entries, 1, Limit::Entries)?;
        if is_file(&entry) {
            files.push(read_file(&mut tar, &entry, profile, budget)?);
        }
    }
    budget.stream = stream.get();
    if files.is_empty() {
        return Err(Error::Empty);
    }
    Ok(files)
}

fn check_gzip(archive: &[u8]) -> Result<(), Error> {
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
    if archive.len() as u64 > MAX_ARCHIVE {
        return Err(Error::Limit(Limit::Archive));
    }
    Ok(())
}

/// Whether an entry is neither a folder nor an extended header.
fn is_file(header: &Header) -> bool {
    !header.is_dir() && header.kind != kind::GLOBAL
}

fn read_file(
    tar: &mut Reader<impl Read>,
    header: &Header,
    profile: Profile,
    budget: &mut Budget,
) -> Result<File, Error> {
    let path = String::from_utf8_lossy(&header.name).into_owned();
    if !matches!(
        header.kind,
        kind::REGULAR | kind::CONTINUOUS | kind::GNU_SPARSE
    ) {
        return Err(Error::NotAFile(path));
    }
    take(&mut budget.names, path.len() as u64, Limit::Names)?;
    let name = chart_path(&path)?;
    let limit_name = profile.rules().total_limit_name;
    let size = header.size;
    if size > budget.files {
        return Err(Error::TooLarge { limit_name });
    }
    if size > MAX_FILE {
        return Err(Error::FileTooLarge(path));
    }
    let mut data = tar.read_file().map_err(Error::of_tar)?;
    budget.files -= size;
    if budget.files == 0 {
        return Err(Error::TooLarge { limit_name });
    }
    strip_byte_order_mark(&mut data);
    Ok(File::new(name, data))
}

fn take(budget: &mut u64, amount: u64, limit: Limit) -> Result<(), Error> {
    *budget = budget.checked_sub(amount).ok_or(Error::Limit(limit))?;
    Ok(())
}

/// Fails, instead of ending the stream, when a limit is reached.
struct Metered<'m, R> {
    inner: R,
    /// The bytes that may still be read, and the limit to report.
    meters: [(&'m Cell<u64>, Limit); 2],
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        for (remaining, limit) in self.meters {
            match remaining.get().checked_sub(read as u64) {
                Some(rest) => remaining.set(rest),
                None => return Err(io::Error::other(limit)),
            }
        }
        Ok(read)
    }
}

impl Error {
    fn of_tar(error: tar::Error) -> Self {
        let tar::Error::Read(error) = error else {
            return Self::Tar(error);
        };
        let limit = error.get_ref().and_then(|inner| inner.downcast_ref());
        limit.copied().map_or(Self::Read(error), Self::Limit)
    }
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

    use ::tar::{Builder, EntryType, Header};
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::{Budget, Error, Limit, MAX_ARCHIVE, MAX_TOTAL, read, read_within};
    use crate::profile::Profile;

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
                ..Budget::default()
            };
            let result = read_within(&bytes, Profile::Helm4, &mut budget);
            assert_eq!(result.is_err(), is_rejected, "{files}");
        }
    }

    fn gzipped(write: impl FnOnce(&mut GzEncoder<Vec<u8>>)) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        write(&mut gzip);
        gzip.finish().unwrap()
    }

    fn limit_of(bytes: &[u8], budget: Budget) -> Limit {
        let mut budget = budget;
        match read_within(bytes, Profile::Helm4, &mut budget) {
            Err(Error::Limit(limit)) => limit,
            other => panic!("{other:?}"),
        }
    }

    /// An archive of files with one byte each.
    fn small_files(count: usize) -> Vec<u8> {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for number in 0..count {
            let name = format!("c/{number:06}");
            tar.append(&entry(name.as_bytes(), EntryType::Regular, 1), &b"x"[..])
                .unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn the_last_of_210_000_files_is_read() {
        let file = |name: &[u8]| {
            let header = entry(name, EntryType::Regular, 1);
            [&header.as_bytes()[..], &[b'x'; 1], &[0; 511]].concat()
        };
        let many = file(b"c/a").repeat(1000);
        let bytes = gzipped(|gzip| {
            for _ in 0..210 {
                gzip.write_all(&many).unwrap();
            }
            gzip.write_all(&file(b"c/last")).unwrap();
        });
        let files = read(&bytes, Profile::Helm4).unwrap();
        assert_eq!(files.len(), 210_001);
        assert_eq!(files[210_000].name, "last");
    }

    #[test]
    fn each_limit_is_an_error_that_names_it() {
        let bytes = small_files(100);
        let cases = [
            (Limit::Entries, 99, u64::MAX, u64::MAX),
            (Limit::Names, u64::MAX, 799, u64::MAX),
            (Limit::Stream, u64::MAX, u64::MAX, 100 * 1024 - 1),
        ];
        for (expected, entries, names, stream) in cases {
            let budget = Budget {
                files: MAX_TOTAL,
                entries,
                names,
                stream,
            };
            assert_eq!(limit_of(&bytes, budget), expected);
        }
        let huge = [
            b"\x1f\x8b\x08".to_vec(),
            vec![0; usize::try_from(MAX_ARCHIVE).unwrap()],
        ]
        .concat();
        assert_eq!(limit_of(&huge, Budget::default()), Limit::Archive);
    }

    #[test]
    fn a_name_or_extended_header_of_many_megabytes_is_rejected_before_it_is_read() {
        for kind in [
            EntryType::GNULongName,
            EntryType::GNULongLink,
            EntryType::XHeader,
        ] {
            let header = entry(b"././@LongLink", kind, 150 << 20);
            let bytes = gzipped(|gzip| {
                gzip.write_all(header.as_bytes()).unwrap();
                gzip.write_all(&vec![b'x'; 2 << 20]).unwrap();
            });
            let error = read(&bytes, Profile::Helm4).unwrap_err().to_string();
            assert_eq!(error, "archive/tar: header field too long", "{kind:?}");
        }
    }

    #[test]
    fn many_headers_of_one_entry_are_rejected() {
        let header = entry(b"././@LongLink", EntryType::GNULongLink, 1 << 20);
        let bytes = gzipped(|gzip| {
            for _ in 0..5 {
                gzip.write_all(header.as_bytes()).unwrap();
                gzip.write_all(&vec![b'x'; 1 << 20]).unwrap();
            }
        });
        assert_eq!(limit_of(&bytes, Budget::default()), Limit::Header);
    }

    #[test]
    fn a_long_name_within_the_limit_is_read() {
        let name = format!("c/{}", "x".repeat(1_000_000));
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = Header::new_gnu();
        header.set_size(4);
        tar.append_data(&mut header, &name, &b"data"[..]).unwrap();
        let bytes = tar.into_inner().unwrap().finish().unwrap();
        assert_eq!(read(&bytes, Profile::Helm4).unwrap()[0].name, name[2..]);
    }

    #[test]
    fn a_truncated_archive_is_an_error_wherever_it_ends() {
        let tar = gzipped(|gzip| {
            gzip.write_all(entry(b"c/a", EntryType::Regular, 1000).as_bytes())
                .unwrap();
            gzip.write_all(&[b'x'; 600]).unwrap();
        });
        let error = read(&tar, Profile::Helm4).unwrap_err().to_string();
        assert_eq!(error, "unexpected EOF");
        let whole = small_files(3);
        for end in 10..whole.len() {
            // The last blocks are padding.
            if let Ok(files) = read(&whole[..end], Profile::Helm4) {
                assert_eq!(files.len(), 3, "{end}");
            }
        }
    }

    #[test]
    fn a_file_may_span_gzip_members() {
        let mut tar = Builder::new(Vec::new());
        tar.append(&entry(b"c/a", EntryType::Regular, 4), &b"data"[..])
            .unwrap();
        let tar = tar.into_inner().unwrap();
        let members = [&tar[..514], &[], &tar[514..]];
        let bytes = members
            .map(|part| gzipped(|gzip| gzip.write_all(part).unwrap()))
            .concat();
        assert_eq!(*read(&bytes, Profile::Helm4).unwrap()[0].data, b"data");
    }
}
