//! Extracts a built package to a folder: the one that it was built from, with the images as an OCI layout.
//!
//! The folder gets its name when every byte of the package was verified. Until then it is a temporary folder beside it.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::archive::{Error, Reader, Sink};
use crate::lock::LockedEntry;

/// Why a package cannot be extracted.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    #[error(transparent)]
    Archive(#[from] Error),
}

/// Extracts a package, with the base that a delta needs. The folder must not exist.
pub fn extract(reader: Reader, base: Option<Reader>, folder: &Path) -> Result<(), ExtractError> {
    // A link to nothing exists, too.
    if fs_err::symlink_metadata(folder).is_ok() {
        return Err(ExtractError::Exists(folder.to_owned()));
    }
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    let temporary = tempfile::Builder::new()
        .prefix(".outrigger-expansion-")
        .tempdir_in(parent)
        .map_err(|error| Error::io(parent, error))?;
    let mut sink = FolderSink {
        folder: temporary.path(),
        entries: Vec::new(),
        file: None,
    };
    reader.read(base, &mut sink)?;
    let failed = |error| Error::io(folder, error);
    let mode = std::fs::Permissions::from_mode(0o755);
    fs_err::set_permissions(temporary.path(), mode).map_err(failed)?;
    fs_err::rename(temporary.path(), folder).map_err(failed)?;
    // It has another name now.
    let _ = temporary.keep();
    Ok(())
}

/// Writes entries below a folder that nothing else writes to. The lock has plain paths only.
struct FolderSink<'f> {
    folder: &'f Path,
    entries: Vec<LockedEntry>,
    file: Option<(PathBuf, fs_err::File)>,
}

impl FolderSink<'_> {
    fn create(&self, entry: &LockedEntry) -> Result<(PathBuf, fs_err::File), Error> {
        let path = self.folder.join(&entry.path);
        let failed = |error| Error::io(&path, error);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        let mut options = fs_err::OpenOptions::new();
        // Secrets are at no time readable by others.
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        Ok((path.clone(), file.map_err(failed)?))
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<(), Error> {
    let permissions = std::fs::Permissions::from_mode(mode & 0o777);
    fs_err::set_permissions(path, permissions).map_err(|error| Error::io(path, error))
}

impl Sink for FolderSink<'_> {
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), Error> {
        self.file = entries
            .first()
            .map(|entry| self.create(entry))
            .transpose()?;
        self.entries = entries.to_vec();
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.file {
            Some((path, file)) => file
                .write_all(bytes)
                .map_err(|error| Error::io(path, error)),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let entries = std::mem::take(&mut self.entries);
        let (Some((first, others)), Some((written, file))) =
            (entries.split_first(), self.file.take())
        else {
            return Ok(());
        };
        drop(file);
        for entry in others {
            let (path, mut copy) = self.create(entry)?;
            let failed = |error| Error::io(&path, error);
            let mut source = fs_err::File::open(&written).map_err(failed)?;
            std::io::copy(&mut source, &mut copy).map_err(failed)?;
            set_mode(&path, entry.mode)?;
        }
        set_mode(&written, first.mode)
    }
}
