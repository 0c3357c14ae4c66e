//! Reads small files whose size is not trusted.

use std::io::{self, Read as _};
use std::path::Path;

/// The content; none if it has more than `limit` bytes. A device reports no size.
pub(crate) fn read_to_limit(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut file = fs_err::File::open(path)?.take(limit + 1);
    file.read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_and_devices_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs_err::write(&path, "{}").unwrap();
        assert_eq!(read_to_limit(&path, 2).unwrap(), Some(b"{}".to_vec()));
        assert_eq!(read_to_limit(&path, 1).unwrap(), None);
        assert_eq!(read_to_limit(Path::new("/dev/zero"), 1024).unwrap(), None);
    }
}
