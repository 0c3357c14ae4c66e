//! Errors of the store file.

use std::io;
use std::path::{Path, PathBuf};

use crate::key::{Key, KeyError};
use crate::object::DecodeError;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another store in this process, has locked the folder.
    #[error("the data folder {} is in use by another process", folder.display())]
    InUse { folder: PathBuf },
    /// The folder must have a store and has none.
    #[error("{} contains no API server data", folder.display())]
    NoStore { folder: PathBuf },
    /// The folder cannot be created, read or locked.
    #[error("failed to prepare the data folder {}", folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file was written by another program.
    #[error("{} is not a store of this program", path.display())]
    NotAStore { path: PathBuf },
    /// The file was written by another version of this program.
    #[error("{} has format {found}, which this version does not read", path.display())]
    Format { path: PathBuf, found: u64 },
    #[error("{} is damaged", path.display())]
    Corrupt {
        path: PathBuf,
        #[source]
        source: Corruption,
    },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("failed to start the writer thread")]
    Thread(#[source] io::Error),
}

/// Why a backup cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Only an empty folder is written to.
    #[error("{} is not empty", folder.display())]
    NotEmpty { folder: PathBuf },
    #[error("{} is not a backup", file.display())]
    NotBackup { file: PathBuf },
    #[error("failed to copy {}", backup.display())]
    Copy {
        backup: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is damaged, or a database of another program.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// How a file is corrupt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    #[error("{0}")]
    Structure(Box<str>),
    #[error("failed to decode a key")]
    Key(#[source] KeyError),
    #[error("failed to decode the object at {key}")]
    Object {
        key: Key,
        #[source]
        source: DecodeError,
    },
}

impl Corruption {
    pub(super) fn structure(text: impl Into<Box<str>>) -> Self {
        Self::Structure(text.into())
    }
}

/// Why a commit failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The disk, a quota or the file size limit is exhausted. Commits succeed again once there is space.
    #[error("the disk that holds {} is full", path.display())]
    Full {
        path: PathBuf,
        #[source]
        source: Box<redb::Error>,
    },
    /// Any other failure. The next commit reopens the file.
    #[error("failed to write {}", path.display())]
    Failed {
        path: PathBuf,
        #[source]
        source: Box<redb::Error>,
    },
    /// The file lost acknowledged commits. The store no longer writes to it.
    #[error("{} regressed from revision {expected} to {found}", path.display())]
    RevisionRegressed {
        path: PathBuf,
        /// The last acknowledged revision.
        expected: u64,
        found: u64,
    },
}

impl StorageError {
    pub(super) fn new(path: &Path, source: impl Into<redb::Error>) -> Self {
        let path = path.to_owned();
        let source = Box::new(source.into());
        match &*source {
            redb::Error::Io(error) if is_full(error) => Self::Full { path, source },
            _ => Self::Failed { path, source },
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Classifies an error of redb while a file is opened.
pub(super) fn open_error(path: &Path, error: impl Into<redb::Error>) -> OpenError {
    let path_of = || path.to_owned();
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse {
            folder: path.parent().unwrap_or(path).to_owned(),
        },
        redb::Error::UpgradeRequired(found) => OpenError::Format {
            path: path_of(),
            found: found.into(),
        },
        redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            OpenError::NotAStore { path: path_of() }
        }
        redb::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            OpenError::Corrupt {
                path: path_of(),
                source: Corruption::structure("the file is too short"),
            }
        }
        error if is_structural(&error) => OpenError::Corrupt {
            path: path_of(),
            source: Corruption::structure(error.to_string()),
        },
        error => StorageError::new(path, error).into(),
    }
}

fn is_structural(error: &redb::Error) -> bool {
    matches!(
        error,
        redb::Error::Corrupted(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TableIsNotMultimap(_)
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableDoesNotExist(_)
    )
}
