//! The durable store: all objects in memory and in one file, one revision for each write, one writer.
//!
//! Reads are served from memory and never wait for the disk. A write is acknowledged, and visible to readers and
//! watchers, only when it is durable. A process that is killed at any instant loses no acknowledged write.
//!
//! Objects are opaque here: validation, defaulting and authorization are up to the caller.

mod backend;
mod batch;
mod clock;
mod collection;
mod encoded;
mod key;
mod metadata;
mod object;
mod retained_snapshots;
mod scope;
mod shared;
mod snapshot;
mod transaction;
pub mod watch;
mod writer;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot, watch as signal};

pub use backend::{Corruption, OpenError, RestoreError, StorageError};
pub use clock::{Clock, SystemClock};
pub use encoded::{EncodeError, EncodedObject, MAX_OBJECT_BYTES};
pub use key::{Key, KeyError, Resource};
pub use metadata::{Metadata, OwnerReference};
pub use object::{DecodeError, Object};
pub use retained_snapshots::SnapshotRetention;
pub use scope::Scope;
pub use snapshot::Snapshot;
pub use transaction::{
    Committed, MAX_OPERATIONS, Operation, Precondition, Transaction, WriteError,
};

use crate::watch::{Expired, HistoryOptions, WatchCache, Watcher};
use backend::{Backend, FIRST_REVISION, File, write_copy};
use retained_snapshots::RetainedSnapshots;
use shared::Shared;
use snapshot::State;
use writer::{Command, Request, Writer};

#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder; without one, objects are kept in memory only, for tests and demos.
    pub folder: Option<PathBuf>,
    /// Whether the folder must have a store already.
    pub must_exist: bool,
    /// How many events the watch cache keeps.
    pub history: HistoryOptions,
    /// How many snapshots are kept for paginated lists.
    pub retain: SnapshotRetention,
    /// The capacity of the writer's queue. `write` waits while it is full.
    pub queue: usize,
    /// The clock for the ages of events and snapshots.
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// A store that is not persisted.
    pub fn in_memory() -> Self {
        Self {
            folder: None,
            must_exist: false,
            history: HistoryOptions::default(),
            retain: SnapshotRetention::default(),
            queue: 4096,
            clock: Arc::new(SystemClock),
        }
    }

    /// A store in one file of `folder`, which is created if needed.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            ..Self::in_memory()
        }
    }

    /// A store that `folder` has already. Nothing is created.
    pub fn in_existing_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            must_exist: true,
            ..Self::in_folder(folder)
        }
    }
}

/// A handle to an open store. Cheap to clone. The store closes with [`Store::close`], or in the background when the
/// last handle is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    writer: Arc<WriterThread>,
    folder: Option<Arc<Path>>,
}

#[derive(Debug)]
struct WriterThread {
    thread: Mutex<Option<JoinHandle<()>>>,
    closed: signal::Receiver<bool>,
}

impl Store {
    /// Opens the file, loads all objects and starts the writer. Blocks on disk I/O.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let (backend, state) = match &options.folder {
            None => (Backend::Memory, State::new(FIRST_REVISION)),
            Some(folder) => {
                let (file, state) = File::open(folder, options.must_exist)?;
                (Backend::File(Box::new(file)), state)
            }
        };
        Self::start(options, backend, state)
    }

    fn start(options: Options, backend: Backend, state: State) -> Result<Self, OpenError> {
        let watch_cache = WatchCache::new(options.history, state.revision());
        let retained = RetainedSnapshots::new(options.retain);
        let shared = Arc::new(Shared::new(state, watch_cache, retained, options.clock));
        let folder = options.folder.map(Arc::from);
        let (commands, receiver) = mpsc::channel(options.queue.max(1));
        let (closing, closed) = signal::channel(false);
        let writer = Writer::new(receiver, Arc::clone(&shared), backend);
        let guard = CloseOnDrop {
            shared: Arc::clone(&shared),
            closing,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let _guard = guard;
                let end = std::panic::catch_unwind(AssertUnwindSafe(|| writer.run()));
                if end.is_err() {
                    // The file may have a batch that memory does not. Only a restart makes them equal.
                    std::process::abort();
                }
            })
            .map_err(OpenError::Thread)?;
        Ok(Self {
            shared,
            commands,
            writer: Arc::new(WriterThread {
                thread: Mutex::new(Some(thread)),
                closed,
            }),
            folder,
        })
    }

    /// Commits a transaction durably. If the future is dropped, the transaction may or may not be committed.
    pub async fn write(
        &self,
        transaction: impl Into<Transaction>,
    ) -> Result<Committed, WriteError> {
        let (reply, response) = oneshot::channel();
        let request = Request {
            transaction: transaction.into(),
            reply,
        };
        self.commands
            .send(Command::Write(request))
            .await
            .map_err(|_| WriteError::Closed)?;
        response.await.unwrap_or(Err(WriteError::Closed))
    }

    /// The revision of the last visible write.
    pub fn revision(&self) -> u64 {
        self.shared.revision()
    }

    /// The compacted revision: watches and lists at earlier revisions are expired.
    pub fn compacted_revision(&self) -> u64 {
        self.shared.watch_cache.compacted()
    }

    /// The current version of an object.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.shared.get(key)
    }

    /// All objects at the current revision.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.state())
    }

    /// All objects at `revision`; at the current revision if `revision` is in the future.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Expired> {
        self.shared.snapshot_at(revision)
    }

    /// Keeps `snapshot` for [`Store::snapshot_at`] when the history no longer has it, within [`SnapshotRetention`].
    pub fn retain(&self, snapshot: &Snapshot) {
        self.shared.retain(snapshot.clone());
    }

    /// Watches the changes in `scope` after `revision`, without gaps or duplicates. A watch at a future revision waits
    /// for it.
    pub fn watch(&self, scope: Scope, revision: u64) -> Result<Watcher, Expired> {
        self.shared.watch_cache.watch(scope, revision)
    }

    /// Writes a copy of the current state to a new file, for [`restore`].
    /// Blocks on disk I/O, but does not block writes.
    pub fn backup(&self, path: &Path) -> Result<Backup, BackupError> {
        if path.try_exists().unwrap_or(true) {
            return Err(BackupError::Exists {
                path: path.to_owned(),
            });
        }
        let snapshot = self.snapshot();
        let everything = Scope::everything();
        write_copy(path, snapshot.revision(), snapshot.list(&everything))?;
        Ok(Backup {
            revision: snapshot.revision(),
            objects: snapshot.list(&everything).count(),
        })
    }

    /// The data folder, if the store has one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Commits the queued writes, closes the file and unlocks the folder. Later writes fail, reads still work, and
    /// watchers end after the last event.
    pub async fn close(&self) {
        // This fails if the writer has already ended.
        let _ = self.commands.send(Command::Close).await;
        let mut closed = self.writer.closed.clone();
        let _ = closed.wait_for(|closed| *closed).await;
        let thread = self
            .writer
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A panic of the thread ends the process.
            let _ = thread.join();
        }
    }
}

/// What a backup has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    pub revision: u64,
    pub objects: usize,
}

/// Copies a backup into `folder`, which must be empty or not exist, and verifies the copy. If this fails, the folder has no
/// store.
pub fn restore(backup: &Path, folder: &Path) -> Result<Backup, RestoreError> {
    let state = File::restore(backup, folder)?;
    let objects = Snapshot::new(Arc::new(state));
    Ok(Backup {
        revision: objects.revision(),
        objects: objects.list(&Scope::everything()).count(),
    })
}

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Backups overwrite no file.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Closes the watch cache when the writer ends.
#[derive(Debug)]
struct CloseOnDrop {
    shared: Arc<Shared>,
    closing: signal::Sender<bool>,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.shared.watch_cache.close();
        self.closing.send_replace(true);
    }
}

#[cfg(test)]
pub(crate) mod tests;
