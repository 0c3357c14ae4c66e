//! The redb file: opens, verifies and loads it, commits to it, and reopens it after a disk failure.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use redb::{Builder, Database, DatabaseError};

use super::FIRST_REVISION;
use super::error::{OpenError, RestoreError, StorageError, open_error};
use super::folder::{self, Folder, write_whole};
use super::format::{self, Changes};
use super::reserve::{RESERVED_BYTES, Reserve};
use super::silent_panics;
use crate::batch::Writes;
use crate::key::Key;
use crate::object::Object;
use crate::snapshot::State;

/// redb's page cache. Small, because objects are read from memory and never from the file.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// Files below this size are not worth compacting.
const COMPACT_FROM_BYTES: u64 = 16 * 1024 * 1024;

/// How files of redb begin.
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// Opens the database of an existing file.
pub(crate) type Opener = Box<dyn Fn(&Builder) -> Result<Database, DatabaseError> + Send>;

/// A file that is open, or that the next commit reopens because the disk failed.
pub(crate) struct File {
    path: PathBuf,
    open: Opener,
    database: Option<Database>,
    /// The last acknowledged revision.
    revision: u64,
    /// Keys of failed commits that may be in the file nevertheless. The next commit overwrites them.
    uncertain: BTreeSet<Key>,
    /// Of the folder, which is locked until the file is closed.
    reserve: Box<dyn Reserve>,
    is_reserved: bool,
    /// How many bytes fewer the objects have since the file was last compacted.
    freed: u64,
}

impl File {
    /// Locks the folder, creates the file if needed, and loads it.
    pub(crate) fn open(folder: &Path, must_exist: bool) -> Result<(Self, State), OpenError> {
        if must_exist && !folder::has_store(folder) {
            return Err(OpenError::NoStore {
                folder: folder.to_owned(),
            });
        }
        let folder = Folder::lock(folder)?;
        let path = folder.store();
        let exists = path.try_exists().map_err(|source| OpenError::Folder {
            folder: folder.path().to_owned(),
            source,
        })?;
        if !exists {
            write_copy(&path, FIRST_REVISION, std::iter::empty())?;
        }
        let file = path.clone();
        let open: Opener = Box::new(move |builder| builder.open(&file));
        let length = || fs_err::metadata(&path).map_or(0, |metadata| metadata.len());
        Self::with(path.clone(), open, length, Box::new(folder))
    }

    /// Copies `backup` to an empty folder and loads the copy.
    pub(crate) fn restore(backup: &Path, folder: &Path) -> Result<State, RestoreError> {
        if !folder::is_empty(folder) {
            return Err(RestoreError::NotEmpty {
                folder: folder.to_owned(),
            });
        }
        let failed = |source| RestoreError::Copy {
            backup: backup.to_owned(),
            source,
        };
        let mut from = fs_err::File::open(backup).map_err(failed)?;
        if !is_database(&mut from).map_err(failed)? {
            return Err(RestoreError::NotBackup {
                file: backup.to_owned(),
            });
        }
        let locked = Folder::lock(folder)?;
        let path = locked.store();
        let copy = |mut to: fs_err::File| std::io::copy(&mut from, &mut to).map(drop);
        write_whole(&path, copy).map_err(failed)?.map_err(failed)?;
        let file = path.clone();
        let open: Opener = Box::new(move |builder| builder.open(&file));
        let loaded = Self::with(path, open, || 0, Box::new(locked));
        if loaded.is_err() {
            // The error matters more than what is left.
            let _ = folder::remove_files(folder);
        }
        Ok(loaded?.1)
    }

    /// Loads the database that `open` opens.
    pub(crate) fn with(
        path: PathBuf,
        open: Opener,
        length: impl Fn() -> u64,
        reserve: Box<dyn Reserve>,
    ) -> Result<(Self, State), OpenError> {
        let load = || {
            let mut database = open_checked(&path, &open)?;
            if let Err(error) = compact_if_sparse(&mut database, length()) {
                tracing::warn!(path = %path.display(), %error, "failed to compact the store file");
                drop(database);
                database = open_checked(&path, &open)?;
            }
            let state = format::load(&database, &path)?;
            Ok((database, state))
        };
        let (database, state) = catch(load, |error| open_error(&path, error))?;
        let mut file = Self {
            path,
            open,
            database: Some(database),
            revision: state.revision(),
            uncertain: BTreeSet::new(),
            reserve,
            is_reserved: false,
            freed: 0,
        };
        if let Err(error) = file.ensure_reserve() {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "failed to reserve disk space: only deletions are possible");
        }
        Ok((file, state))
    }

    /// Makes a batch durable. On a full disk, one that frees space uses the reserve; every other requires that there is
    /// one.
    pub(crate) fn commit(
        &mut self,
        revision: u64,
        writes: &Writes,
        state: &State,
        frees_space: bool,
    ) -> Result<(), StorageError> {
        if !frees_space {
            self.ensure_reserve()?;
        }
        let mut committed = self.commit_or_close(revision, writes, state);
        if matches!(committed, Err(StorageError::Full { .. }))
            && frees_space
            && self.release_reserve()
        {
            committed = self.commit_or_close(revision, writes, state);
        }
        if committed.is_ok() && frees_space {
            self.freed = self.freed.saturating_add(freed_by(writes, state));
        }
        committed
    }

    fn ensure_reserve(&mut self) -> Result<(), StorageError> {
        if !self.is_reserved {
            let mut allocated = self.reserve.allocate();
            if allocated.is_err() && self.compact_what_is_freed() {
                allocated = self.reserve.allocate();
            }
            allocated.map_err(|error| StorageError::new(&self.path, redb::Error::Io(error)))?;
            self.is_reserved = true;
        }
        Ok(())
    }

    /// Returns the space of deleted objects to the disk, if that is enough to be worth the time. Whether it did.
    fn compact_what_is_freed(&mut self) -> bool {
        let length = fs_err::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if self.freed < RESERVED_BYTES.max(length / 8) {
            return false;
        }
        self.freed = 0;
        let path = self.path.clone();
        let compact = || {
            let mut database = match self.database.take() {
                Some(database) => database,
                None => self.reopen()?,
            };
            let compacted = database.compact();
            compacted.map_err(|error| StorageError::new(&path, error))?;
            self.database = Some(database);
            Ok(())
        };
        let compacted = catch(compact, |error| StorageError::new(&path, error));
        match &compacted {
            Ok(()) => tracing::info!(path = %path.display(), length, "compacted the store file"),
            // The next commit reopens the file.
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "failed to compact the store file");
            }
        }
        compacted.is_ok()
    }

    /// Whether there is more space now.
    fn release_reserve(&mut self) -> bool {
        let was_reserved = std::mem::take(&mut self.is_reserved);
        was_reserved && self.reserve.release().is_ok()
    }

    /// Makes a batch durable. After a failure the next commit reopens the file and overwrites with `state` what the
    /// failed one may have written, so that it never becomes visible.
    fn commit_or_close(
        &mut self,
        revision: u64,
        writes: &Writes,
        state: &State,
    ) -> Result<(), StorageError> {
        let path = self.path.clone();
        let result = catch(
            || self.try_commit(revision, writes, state),
            |error| StorageError::new(&path, error),
        );
        match &result {
            Ok(()) => {
                self.revision = revision;
                self.uncertain.clear();
            }
            Err(error) => {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::warn!(%error, cause, "failed to commit to the store file");
                let failed = self.database.take();
                let close = || {
                    drop(failed);
                    Ok(())
                };
                let _ = catch(close, |error| error);
                self.uncertain.extend(writes.keys().cloned());
            }
        }
        result
    }

    fn try_commit(
        &mut self,
        revision: u64,
        writes: &Writes,
        state: &State,
    ) -> Result<(), StorageError> {
        if self.database.is_none() {
            self.database = Some(self.reopen()?);
        }
        let database = self
            .database
            .as_ref()
            .expect("the database was opened above");
        format::commit(database, revision, self.changes(writes, state))
            .map_err(|error| StorageError::new(&self.path, error))
    }

    /// The changes of `writes`, and those that overwrite what failed commits may have written.
    fn changes<'a>(&self, writes: &'a Writes, state: &'a State) -> Changes<'a> {
        let uncertain = self
            .uncertain
            .iter()
            .filter(|key| !writes.contains_key(key));
        Changes {
            remove_after: (!self.uncertain.is_empty()).then_some(self.revision),
            removed: writes
                .keys()
                .filter_map(|key| state.get(key).map(|object| object.revision()))
                .collect(),
            stored: uncertain
                .filter_map(|key| state.get(key))
                .chain(writes.values().flatten())
                .collect(),
        }
    }

    fn reopen(&mut self) -> Result<Database, StorageError> {
        let database =
            (self.open)(&builder()).map_err(|error| StorageError::new(&self.path, error))?;
        let found =
            format::revision(&database).map_err(|error| StorageError::new(&self.path, error))?;
        if found < self.revision {
            return Err(StorageError::RevisionRegressed {
                path: self.path.clone(),
                expected: self.revision,
                found,
            });
        }
        if found == self.revision {
            self.uncertain.clear();
        }
        tracing::info!(path = %self.path.display(), revision = found, "reopened the store file");
        Ok(database)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("File")
            .field("path", &self.path)
            .field("open", &self.database.is_some())
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

/// How many bytes fewer the objects have after the writes.
fn freed_by(writes: &Writes, state: &State) -> u64 {
    let length = |object: Option<&Arc<Object>>| object.map_or(0, |object| object.bytes().len());
    let freed = writes
        .iter()
        .map(|(key, new)| length(state.get(key)).saturating_sub(length(new.as_ref())));
    freed.sum::<usize>() as u64
}

/// Writes a new store file and renames it to `path`.
pub(crate) fn write_copy<'a>(
    path: &Path,
    revision: u64,
    objects: impl Iterator<Item = &'a Arc<Object>>,
) -> Result<(), StorageError> {
    let write = |file: fs_err::File| {
        let database = builder().create_file(file.into_file())?;
        format::create(&database, revision, objects)
    };
    write_whole(path, write)
        .map_err(|error| StorageError::new(path, error))?
        .map_err(|error: redb::Error| StorageError::new(path, error))
}

/// redb panics on some damaged files. Such a panic becomes an error, and nothing else is printed.
fn catch<T, E>(
    function: impl FnOnce() -> Result<T, E>,
    error: impl FnOnce(redb::Error) -> E,
) -> Result<T, E> {
    let result = silent_panics::catch(function);
    result.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref().copied());
        let text = format!("redb panicked: {}", text.unwrap_or_default());
        Err(error(redb::Error::Corrupted(text)))
    })
}

/// Whether a file is one of redb, before it is copied: what else is named may have no end.
fn is_database(file: &mut fs_err::File) -> std::io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Opens the file and verifies all checksums, so that corruption is found now and not when a page is read.
fn open_checked(path: &Path, open: &Opener) -> Result<Database, OpenError> {
    let repaired = Rc::new(Cell::new(false));
    let mut builder = builder();
    builder.set_repair_callback({
        let repaired = Rc::clone(&repaired);
        move |_| repaired.set(true)
    });
    let mut database = open(&builder).map_err(|error| open_error(path, error))?;
    // Repair after an unclean shutdown verifies the checksums too.
    if !repaired.get() {
        database
            .check_integrity()
            .map_err(|error| open_error(path, error))?;
    }
    Ok(database)
}

/// Compacts the file if more than half of it is free.
fn compact_if_sparse(database: &mut Database, length: u64) -> Result<(), redb::Error> {
    if length < COMPACT_FROM_BYTES {
        return Ok(());
    }
    let transaction = database.begin_write()?;
    let stats = transaction.stats()?;
    let used = stats.allocated_pages() * u64::try_from(stats.page_size()).unwrap_or(u64::MAX);
    transaction.abort()?;
    if used < length / 2 {
        database.compact()?;
        tracing::info!(length, used, "compacted the store file");
    }
    Ok(())
}
