//! The backend of a store: a redb file, or nothing for a store in memory.

mod error;
mod file;
mod folder;
mod format;
mod reserve;
mod silent_panics;

pub use error::{Corruption, OpenError, RestoreError, StorageError};
pub(super) use file::{File, write_copy};
#[cfg(test)]
pub(super) use format::create_empty as create_in;
#[cfg(test)]
pub(super) use reserve::{RESERVED_BYTES, Reserve};

use super::batch::Writes;
use super::snapshot::State;

/// The revision of an empty store. It is not 0, which clients send for "any version".
pub(super) const FIRST_REVISION: u64 = 1;

#[derive(Debug)]
pub(super) enum Backend {
    /// Nothing is persisted.
    Memory,
    /// One file in a folder.
    File(Box<File>),
}

impl Backend {
    /// Makes a batch durable, atomically. `state` is the durable state before it. If it frees space, it is possible on a
    /// full disk.
    pub(super) fn commit(
        &mut self,
        revision: u64,
        writes: &Writes,
        state: &State,
        frees_space: bool,
    ) -> Result<(), StorageError> {
        match self {
            Self::Memory => Ok(()),
            Self::File(file) => file.commit(revision, writes, state, frees_space),
        }
    }
}
