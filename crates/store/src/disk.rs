//! Where commits go: a redb file, or nowhere for a store in memory. Nothing else differs between the two.

mod failure;
mod file;
mod folder;
mod format;

pub use failure::{Corruption, OpenError, StorageError};
pub(super) use file::{File, write_copy};
#[cfg(test)]
pub(super) use format::create_empty as create_in;

use super::plan::Writes;
use super::snapshot::State;

/// The revision of a store in which nothing was ever written. Clients read 0 as "any", so it is not 0.
pub(super) const FIRST_REVISION: u64 = 1;

/// The durable side of a store.
#[derive(Debug)]
pub(super) enum Disk {
    /// Nothing is kept.
    Memory,
    /// One file in a folder.
    File(Box<File>),
}

impl Disk {
    /// Makes a group durable: all of it, or nothing. `state` is what was durable before.
    pub(super) fn commit(
        &mut self,
        revision: u64,
        writes: &Writes,
        state: &State,
    ) -> Result<(), StorageError> {
        match self {
            Self::Memory => Ok(()),
            Self::File(file) => file.commit(revision, writes, state),
        }
    }
}
