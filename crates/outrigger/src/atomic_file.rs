//! Writes files as a whole: a full disk or a kill leaves the file as it was.

use std::ffi::OsString;
use std::path::Path;

/// Writes a file by way of a temporary one in the same directory.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = fs_err::write(&temporary, bytes).and_then(|()| fs_err::rename(&temporary, path));
    if written.is_err() {
        // It may not exist.
        let _ = fs_err::remove_file(&temporary);
    }
    Ok(written?)
}

/// Creates a folder to write files to, if it does not exist.
pub(crate) fn create_folder(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(!path.is_file(), "{} is not a folder", path.display());
    Ok(fs_err::create_dir_all(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tgz");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs_err::read(&path).unwrap(), b"new");
        assert!(write(&folder.path().join("no/a.tgz"), b"x").is_err());
        // A directory cannot be replaced by a file.
        fs_err::create_dir(folder.path().join("b.tgz")).unwrap();
        assert!(write(&folder.path().join("b.tgz"), b"x").is_err());
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 2);
    }
}
