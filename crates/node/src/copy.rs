//! Copies files: one round trip to compare, and one stream for what differs.
//!
//! ```text
//! Tree ─ paths ─→ machine: what exists, digests, modes ─→ plan ─ tar archive ─→ staging folders next to the destinations
//!                                                                              → digests checked → renamed
//! ```
//!
//! Renames are atomic, so that a destination is either the old or the new file. The files are not synced to disk: a copy
//! compares digests, so that the next one repairs what a power failure damaged.

mod answers;
mod archive;
mod file_cache;
mod plan;
mod remove;
mod transfer;
mod tree;

pub use file_cache::{FileCache, ScanProgress};
pub use tree::{Entry, MAX_DEPTH, MAX_FILES, ScanError, Tree};

use std::path::PathBuf;
use std::time::Duration;

use crate::RunError;

/// What a copy did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files that were sent.
    pub transferred: usize,
    /// Their size.
    pub bytes: u64,
    /// Files of which only the mode was changed.
    pub modes_changed: usize,
    /// Files that were as wanted.
    pub unchanged: usize,
}

/// Why a copy failed. Destinations that were not replaced are as before.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{} changed while it was copied", .0.display())]
    SourceChanged(PathBuf),
    #[error("failed to read {}", path.display())]
    Source {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} on {machine} is {found}, and cannot be replaced by {wanted}")]
    Occupied {
        machine: String,
        path: String,
        found: &'static str,
        wanted: &'static str,
    },
    #[error("{path} leads to {real} on {machine}, which is a system path; set force to replace it")]
    SystemPath {
        machine: String,
        path: String,
        /// Where links of the machine lead.
        real: String,
    },
    /// Other users of the machine could replace the files, hooks that run as root included.
    #[error("the files on {machine} are not touched: {reason}")]
    Untrusted {
        machine: String,
        /// Names the folder and its owner.
        reason: String,
    },
    /// The disk is full, the file system is read-only, the user has no rights, or a program is missing.
    #[error("failed to write files to {folder} on {machine}: {message}")]
    Write {
        machine: String,
        /// The folder of all files that were to be written.
        folder: String,
        message: String,
    },
    #[error("failed to remove files from {folder} on {machine}: {message}")]
    Remove {
        machine: String,
        folder: String,
        message: String,
    },
    #[error("{machine} did not compare {files} files within {timeout:?}")]
    ComparisonTimeout {
        machine: String,
        files: usize,
        timeout: Duration,
    },
    #[error("{machine} did not replace or remove {files} files within {timeout:?}")]
    InstallTimeout {
        machine: String,
        files: usize,
        timeout: Duration,
    },
    #[error("{machine} did not accept data for {timeout:?}")]
    Stalled { machine: String, timeout: Duration },
}
