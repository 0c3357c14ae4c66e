//! What can go wrong with the file, as types that the caller can act on.

use std::io;
use std::path::{Path, PathBuf};

use crate::key::{Key, KeyError};
use crate::object::DecodeError;

/// Why a store does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another store of this one, has the folder.
    #[error("the data folder {} is in use by another process", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be made, read or locked.
    #[error("failed to prepare the data folder {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The file was not written by this program.
    #[error("{} is not a store of this program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by another version of this program.
    #[error("{} has format {found}, which this version does not read", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
    },
    /// The file is damaged.
    #[error("{} is damaged", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        #[source]
        source: Corruption,
    },
    /// The disk failed or is full.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The thread of the writer cannot be started.
    #[error("failed to start the writer")]
    Thread(#[source] io::Error),
}

/// What is wrong inside a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// The structure of the file.
    #[error("{0}")]
    Structure(Box<str>),
    /// The key of an object.
    #[error("a key cannot be read")]
    Key(#[source] KeyError),
    /// The value of an object.
    #[error("the object at {key} cannot be read")]
    Object {
        /// Which.
        key: Key,
        /// How its value is wrong.
        #[source]
        source: DecodeError,
    },
}

impl Corruption {
    pub(super) fn structure(text: impl Into<Box<str>>) -> Self {
        Self::Structure(text.into())
    }
}

/// Why the disk did not take a commit.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// No room, or over a quota or a limit of the file size. Works again when there is room.
    #[error("the disk that holds {} is full", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: Box<redb::Error>,
    },
    /// Any other failure. Every later write tries the file anew.
    #[error("failed to write {}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: Box<redb::Error>,
    },
    /// The file lost writes that it had confirmed. It is not written to any more.
    #[error("{} went back from revision {expected} to {found}", path.display())]
    WentBack {
        /// The file.
        path: PathBuf,
        /// The last revision that was confirmed.
        expected: u64,
        /// The revision that the file holds.
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

/// A failure of redb while a file is opened, as what it means for the file.
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
            OpenError::Foreign { path: path_of() }
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
