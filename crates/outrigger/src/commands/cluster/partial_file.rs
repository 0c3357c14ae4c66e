//! Files that only their owner can read, and that get their names when they are complete.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::report::HintExt as _;

/// A file that is removed unless it is kept.
pub(super) struct PartialFile {
    target: PathBuf,
    path: PathBuf,
    pub(super) file: fs_err::File,
    is_kept: bool,
}

/// Fails if a file exists that is not to be replaced.
pub(super) fn ensure_new(path: &Path, overwrite: bool) -> anyhow::Result<()> {
    if !overwrite && path.exists() {
        return Err(anyhow!("{} exists", path.display())).hint("--overwrite replaces it");
    }
    Ok(())
}

impl PartialFile {
    /// A file next to the one that it becomes.
    pub(super) fn create(target: &Path) -> anyhow::Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{:016x}", getrandom::u64()?));
        let path = PathBuf::from(name);
        let mut options = fs_err::OpenOptions::new();
        let options = options.read(true).write(true).create_new(true);
        Ok(Self {
            file: options.mode(0o600).open(&path)?,
            target: target.to_owned(),
            path,
            is_kept: false,
        })
    }

    /// Gives it its name. Both are durable then.
    pub(super) fn keep(mut self) -> anyhow::Result<()> {
        self.file.sync_all()?;
        fs_err::rename(&self.path, &self.target)?;
        self.is_kept = true;
        let folder = self.target.parent();
        let folder = folder.filter(|it| !it.as_os_str().is_empty());
        Ok(fs_err::File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()?)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // It may not exist.
            let _ = fs_err::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_complete_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.backup");
        let count = || fs_err::read_dir(folder.path()).unwrap().count();
        let mut partial = PartialFile::create(&path).unwrap();
        partial.file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(partial);
        assert_eq!(count(), 0);
        ensure_new(&path, false).unwrap();
        let mut partial = PartialFile::create(&path).unwrap();
        partial.file.write_all(b"all").unwrap();
        partial.keep().unwrap();
        assert_eq!(fs_err::read(&path).unwrap(), b"all");
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, count()), (0o600, 1));
        assert!(ensure_new(&path, false).is_err());
        ensure_new(&path, true).unwrap();
    }
}
