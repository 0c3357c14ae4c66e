//! Headers of tar entries: those that a package has, and descriptions of those that it must not have.

use std::io;

use tar::{EntryType, Header};

use super::error::Refused;

/// Headers and content are padded to blocks of this size.
pub(super) const BLOCK: usize = 512;

/// A block of a tar.
pub(super) type Block = [u8; BLOCK];

/// The blocks before the content of a file. The same path, mode and size yield the same bytes.
pub(super) fn of_file(path: &str, mode: u32, size: u64) -> io::Result<Vec<u8>> {
    let mut header = plain(EntryType::Regular, mode, size);
    if header.set_path(path).is_ok() {
        header.set_cksum();
        return Ok(header.as_bytes().to_vec());
    }
    // Too long for the header: the path is in a record before it, which takes precedence.
    let record = path_record(path);
    let mut extended = plain(EntryType::XHeader, 0o644, record.len() as u64);
    extended.set_path("PaxHeader")?;
    extended.set_cksum();
    let mut blocks = extended.as_bytes().to_vec();
    blocks.extend_from_slice(record.as_bytes());
    blocks.resize(blocks.len() + padding(record.len() as u64), 0);
    header.set_path("PaxPath")?;
    header.set_cksum();
    blocks.extend_from_slice(header.as_bytes());
    Ok(blocks)
}

fn plain(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// `LENGTH path=PATH`, where the length counts itself.
fn path_record(path: &str) -> String {
    let rest = format!(" path={path}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}")
}

/// The zeros that follow content of this size.
pub(crate) fn padding(size: u64) -> usize {
    // Less than a block.
    usize::try_from((BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64).unwrap_or_default()
}

/// A header that a package has at another place, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) size: u64,
    /// Why a package has no such entry, wherever it is.
    pub(super) refused: Option<Refused>,
}

/// What a block says, if it is a header.
pub(super) fn describe(block: &Block) -> Option<Found> {
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(block);
    if header.cksum().ok()? != sum(block) {
        return None;
    }
    let path = String::from_utf8_lossy(&header.path_bytes()).into_owned();
    let refused = match header.entry_type() {
        EntryType::Regular | EntryType::Continuous => refused_path(&path),
        EntryType::Symlink => Some(Refused::Link),
        EntryType::Link => Some(Refused::HardLink),
        EntryType::Char | EntryType::Block => Some(Refused::Device),
        EntryType::Fifo => Some(Refused::Pipe),
        EntryType::Directory => Some(Refused::Folder),
        _ => Some(Refused::Kind),
    };
    Some(Found {
        refused,
        mode: header.mode().unwrap_or_default(),
        size: header.size().unwrap_or_default(),
        path,
    })
}

/// The checksum of a header: the sum of its bytes, with spaces instead of the checksum.
fn sum(block: &Block) -> u32 {
    let bytes = block.iter().enumerate();
    bytes
        .map(|(at, byte)| {
            u32::from(if (148..156).contains(&at) {
                b' '
            } else {
                *byte
            })
        })
        .sum()
}

fn refused_path(path: &str) -> Option<Refused> {
    if path.starts_with('/') {
        Some(Refused::Absolute)
    } else if path.split('/').any(|part| part == "..") {
        Some(Refused::Outside)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// Other programs read what is written here.
    #[test]
    fn headers_are_those_of_an_ordinary_tar() {
        let deep = format!("files/{}end", "é-long-name/".repeat(30));
        let wide = "x".repeat(200);
        let large = 9 << 30;
        for path in ["a", "files/etc/app.conf", &deep, &wide] {
            for size in [0_u64, 3, 512] {
                let mut bytes = of_file(path, 0o750, size).unwrap();
                bytes.extend(vec![7; usize::try_from(size).unwrap()]);
                bytes.resize(bytes.len() + padding(size) + 2 * BLOCK, 0);
                assert_eq!(bytes.len() % BLOCK, 0);
                let mut archive = tar::Archive::new(&bytes[..]);
                let mut entries = archive.entries().unwrap();
                let mut entry = entries.next().unwrap().unwrap();
                assert_eq!(entry.path_bytes(), path.as_bytes());
                assert_eq!(
                    (entry.size(), entry.header().mode().unwrap()),
                    (size, 0o750)
                );
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                assert_eq!(content.len() as u64, size);
                drop(entry);
                assert!(entries.next().is_none());
            }
        }
        let block: Block = of_file("a", 0o644, large).unwrap().try_into().unwrap();
        assert_eq!(describe(&block).unwrap().size, large);
    }

    #[test]
    fn headers_that_a_package_must_not_have_are_described() {
        let of = |kind: EntryType, path: &[u8]| {
            let mut header = plain(kind, 0o644, 0);
            header.as_mut_bytes()[..path.len()].copy_from_slice(path);
            header.set_cksum();
            describe(header.as_bytes()).unwrap()
        };
        let rows = [
            (EntryType::Regular, "a", None),
            (EntryType::Regular, "/a", Some(Refused::Absolute)),
            (EntryType::Regular, "a/../../b", Some(Refused::Outside)),
            (EntryType::Symlink, "a", Some(Refused::Link)),
            (EntryType::Link, "a", Some(Refused::HardLink)),
            (EntryType::Char, "a", Some(Refused::Device)),
            (EntryType::Block, "a", Some(Refused::Device)),
            (EntryType::Fifo, "a", Some(Refused::Pipe)),
            (EntryType::Directory, "a", Some(Refused::Folder)),
            (EntryType::GNULongName, "a", Some(Refused::Kind)),
        ];
        for (kind, path, refused) in rows {
            let found = of(kind, path.as_bytes());
            assert_eq!((found.path.as_str(), found.refused), (path, refused));
        }
        assert_eq!(describe(&[0; BLOCK]), None);
        assert_eq!(describe(&[1; BLOCK]), None);
    }
}
