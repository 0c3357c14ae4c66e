//! Why a built package cannot be read or written. Each error names the entry, so that it is known what is damaged.

use std::io;
use std::path::{Path, PathBuf};

use outrigger_oci::Digest;

use crate::root::DocumentError;

/// Why a built package cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("failed to access {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a built package: {reason}", path.display())]
    NotBuilt { path: PathBuf, reason: String },
    #[error("{}: {document} is refused", path.display())]
    Document {
        path: PathBuf,
        /// `.outrigger/root.json` and the like.
        document: &'static str,
        #[source]
        source: DocumentError,
    },
    #[error("{}: the entry {entry:?} {refused}", path.display())]
    Refused {
        path: PathBuf,
        entry: String,
        refused: Refused,
    },
    #[error("{} is damaged or truncated at the entry {entry:?}", path.display())]
    Damaged {
        path: PathBuf,
        entry: String,
        #[source]
        source: io::Error,
    },
    #[error("{}: the entry {entry:?} has digest {found}, but {expected} was expected", path.display())]
    Digest {
        path: PathBuf,
        entry: String,
        expected: Digest,
        found: Digest,
    },
    #[error("{} is damaged: its bytes have digest {found}, but its end says {expected}", path.display())]
    Trailer {
        path: PathBuf,
        expected: Digest,
        found: Digest,
    },
    #[error("{} is damaged or truncated: it does not end with its digest", path.display())]
    NoTrailer { path: PathBuf },
    #[error("{} has data after its end", path.display())]
    TrailingData { path: PathBuf },
    #[error("{} has {length} bytes, but would expand to {size}, which is more than {limit} times as many", path.display())]
    Ratio {
        path: PathBuf,
        length: u64,
        size: u64,
        limit: u64,
    },
    #[error("{}: the root document names package {root}, and expansion.yaml {definition}", path.display())]
    OtherName {
        path: PathBuf,
        root: String,
        definition: String,
    },
    #[error("the files of {} that are checked have more than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{} is a delta of package {base}, which is needed to read it", path.display())]
    NeedsBase {
        path: PathBuf,
        base: String,
        digest: Digest,
    },
    #[error("{} is package {found}, but the delta needs package {expected}", path.display())]
    OtherBase {
        path: PathBuf,
        expected: String,
        found: String,
    },
    #[error("{} is a delta itself, so that it cannot be a base", path.display())]
    BaseIsDelta { path: PathBuf },
    #[error("{} is not a delta, and needs no base", path.display())]
    NotADelta { path: PathBuf },
    #[error("the base {} lacks {entry}, although the delta says that it has it", path.display())]
    BaseLacks { path: PathBuf, entry: String },
    #[error("{} is in chunks, which cannot be signed", .0.display())]
    InChunks(PathBuf),
    #[error(transparent)]
    Chunk(#[from] super::chunk::ChunkError),
}

/// Why an entry of an archive is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("is a symbolic link; a package has only files")]
    Link,
    #[error("is a hard link; a package has only files")]
    HardLink,
    #[error("is a device; a package has only files")]
    Device,
    #[error("is a named pipe; a package has only files")]
    Pipe,
    #[error("is a folder; a package has only files")]
    Folder,
    #[error("is of a kind that packages do not have; a package has only files")]
    Kind,
    #[error("has an absolute path")]
    Absolute,
    #[error("has a path that leaves the package")]
    Outside,
    #[error("appears twice")]
    Twice,
    #[error("is not in the lock")]
    NotLocked,
    #[error("is not at its place: {0:?} was expected")]
    Misplaced(String),
    #[error("has another header than it must have: mode, size or owner differ")]
    Header,
    #[error("has {size} bytes, which is more than the limit of {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error("is missing: the archive ends before it")]
    Missing,
    #[error("is not followed by zeros")]
    Padding,
    #[error("follows the end of the package")]
    AfterEnd,
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// What a sink returns to end a read.
    pub fn canceled() -> Self {
        Self::io(Path::new("."), io::Error::other("canceled"))
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotBuilt { .. } => {
                "`outrigger expansion build` makes a package of a folder; a folder can be used as it is"
            }
            Self::Damaged { .. }
            | Self::Digest { .. }
            | Self::Trailer { .. }
            | Self::NoTrailer { .. }
            | Self::TrailingData { .. } => {
                "copy the package again from where it was built; nothing of it was used"
            }
            Self::NeedsBase { digest, .. } => {
                return Some(format!(
                    "pass the base with --base; its root document has digest {digest}"
                ));
            }
            Self::OtherBase { .. } => "pass the package that the delta was built from",
            Self::BaseIsDelta { .. } => "use the complete package",
            Self::InChunks(_) => "sign the package when it is built, with --key",
            Self::NotADelta { .. } => "leave out --base",
            Self::Chunk(error) => error.hint(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}
