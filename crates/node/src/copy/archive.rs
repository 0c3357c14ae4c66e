//! The headers of a tar archive. The content follows by itself, so that files stream.

/// The blocks of an archive.
pub(super) const BLOCK: u64 = 512;
/// GNU tar reads records of this size, and waits for a whole one.
const RECORD: u64 = 20 * BLOCK;

/// The header of an entry, with a long name in an entry before it if necessary. The path is absolute.
pub(super) fn header(path: &str, mode: u32, size: u64, kind: tar::EntryType) -> Vec<u8> {
    let name = path.trim_start_matches('/');
    let mut bytes = Vec::new();
    let mut header = tar::Header::new_gnu();
    if header.set_path(name).is_err() {
        bytes = long_name(name);
        let short: String = name.chars().filter(char::is_ascii).take(90).collect();
        // A name that is not used must still be a valid one.
        let _ = header.set_path(short.trim_end_matches('/'));
    }
    finish(&mut header, mode, size, kind);
    bytes.extend_from_slice(header.as_bytes());
    bytes
}

fn long_name(name: &str) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    let _ = header.set_path("././@LongLink");
    let size = name.len() as u64 + 1;
    finish(&mut header, 0o644, size, tar::EntryType::GNULongName);
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    bytes.extend(padding(size));
    bytes
}

fn finish(header: &mut tar::Header, mode: u32, size: u64, kind: tar::EntryType) {
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
}

/// A small file with its header.
pub(super) fn file(path: &str, mode: u32, content: &[u8]) -> Vec<u8> {
    let size = content.len() as u64;
    let mut bytes = header(path, mode, size, tar::EntryType::Regular);
    bytes.extend_from_slice(content);
    bytes.extend(padding(size));
    bytes
}

/// What fills the last block of a file.
pub(super) fn padding(size: u64) -> Vec<u8> {
    zeros(BLOCK - size % BLOCK, BLOCK)
}

/// The end of an archive of `size` bytes.
pub(super) fn end(size: u64) -> Vec<u8> {
    let size = size + 2 * BLOCK;
    let mut bytes = vec![0; 1024];
    bytes.extend(zeros(RECORD - size % RECORD, RECORD));
    bytes
}

fn zeros(count: u64, modulus: u64) -> Vec<u8> {
    let count = if count == modulus { 0 } else { count };
    vec![0; usize::try_from(count).unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_archive_has_the_files_that_were_written() -> std::io::Result<()> {
        let long = format!("/{}/file", "long/".repeat(60));
        let mut bytes = header("/dir", 0o750, 0, tar::EntryType::Directory);
        bytes.extend(file("/a b", 0o755, b"hello"));
        bytes.extend(file(&long, 0o600, &[1; 512]));
        let size = bytes.len() as u64;
        bytes.extend(end(size));
        assert_eq!(bytes.len() as u64 % RECORD, 0);
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut names = Vec::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            names.push((
                entry.path()?.display().to_string(),
                entry.header().mode()?,
                content.len(),
            ));
        }
        let long = long.trim_start_matches('/').to_owned();
        let expected = [
            ("dir".to_owned(), 0o750, 0),
            ("a b".to_owned(), 0o755, 5),
            (long, 0o600, 512),
        ];
        assert_eq!(names, expected);
        Ok(())
    }

    #[test]
    fn sizes_of_more_than_eight_gibibytes_fit() {
        let bytes = header("/f", 0o644, 10 << 30, tar::EntryType::Regular);
        assert_eq!(bytes.len() as u64, BLOCK);
    }
}
