//! The durable store: every object in memory and in one file, one revision for each write, one writer.
//!
//! Reads come from memory and never wait for the disk. A write is answered when it is on the disk; then, and not
//! before, readers and watchers see it. A process that is killed at any instant loses nothing that was answered.
//!
//! What an object means is not known here: validation, defaults and who may do what are the caller's.

mod clock;
mod collection;
mod disk;
mod draft;
mod key;
mod metadata;
mod mutation;
mod object;
mod plan;
mod retained;
mod scope;
mod shared;
mod snapshot;
pub mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot, watch as signal};

pub use clock::{Clock, SystemClock};
pub use disk::{Corruption, OpenError, StorageError};
pub use draft::{Draft, DraftError, MAX_OBJECT_BYTES};
pub use key::{Key, KeyError, Resource};
pub use metadata::{Metadata, OwnerReference};
pub use mutation::{MAX_OPERATIONS, Mutation, Operation, Precondition, WriteError, Written};
pub use object::{DecodeError, Object};
pub use retained::RetainOptions;
pub use scope::Scope;
pub use snapshot::Snapshot;

use crate::watch::{Expired, HistoryOptions, Hub, Watcher};
use disk::{Disk, FIRST_REVISION, File, write_copy};
use retained::Retained;
use shared::Shared;
use snapshot::State;
use writer::{Command, Request, Writer};

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data folder; none keeps everything in memory only, for tests and demos.
    pub folder: Option<PathBuf>,
    /// How far back watches may begin.
    pub history: HistoryOptions,
    /// How many lists may be continued.
    pub retain: RetainOptions,
    /// Most mutations that wait for the writer. When there are more, `write` waits.
    pub queue: usize,
    /// Decides what is old.
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// A store that lives as long as the process.
    pub fn in_memory() -> Self {
        Self {
            folder: None,
            history: HistoryOptions::default(),
            retain: RetainOptions::default(),
            queue: 4096,
            clock: Arc::new(SystemClock),
        }
    }

    /// A store in one file of `folder`, which is made if it is not there.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            ..Self::in_memory()
        }
    }
}

/// A handle to an open store. Cheap to clone. The store closes with [`Store::close`] or, some time after, when the
/// last handle is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    service: Arc<Service>,
}

/// The thread of the writer.
#[derive(Debug)]
struct Service {
    thread: Mutex<Option<JoinHandle<()>>>,
    closed: signal::Receiver<bool>,
}

impl Store {
    /// Opens the file, reads all of it and starts the writer. Blocks on the disk.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let (disk, state) = match &options.folder {
            None => (Disk::Memory, State::new(FIRST_REVISION)),
            Some(folder) => {
                let (file, state) = File::open(folder)?;
                (Disk::File(Box::new(file)), state)
            }
        };
        Self::start(options, disk, state)
    }

    fn start(options: Options, disk: Disk, state: State) -> Result<Self, OpenError> {
        let hub = Hub::new(options.history, state.revision());
        let retained = Retained::new(options.retain);
        let shared = Arc::new(Shared::new(state, hub, retained, options.clock));
        let (commands, receiver) = mpsc::channel(options.queue.max(1));
        let (closing, closed) = signal::channel(false);
        let writer = Writer::new(receiver, Arc::clone(&shared), disk);
        let exit = Exit {
            shared: Arc::clone(&shared),
            closing,
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                let _exit = exit;
                writer.run();
            })
            .map_err(OpenError::Thread)?;
        Ok(Self {
            shared,
            commands,
            service: Arc::new(Service {
                thread: Mutex::new(Some(thread)),
                closed,
            }),
        })
    }

    /// Does `mutation` durably. Dropping the future does not tell whether it happens.
    pub async fn write(&self, mutation: impl Into<Mutation>) -> Result<Written, WriteError> {
        let (reply, answer) = oneshot::channel();
        let request = Request {
            mutation: mutation.into(),
            reply,
        };
        self.commands
            .send(Command::Write(request))
            .await
            .map_err(|_| WriteError::Closed)?;
        answer.await.unwrap_or(Err(WriteError::Closed))
    }

    /// The revision of the last visible write.
    pub fn revision(&self) -> u64 {
        self.shared.revision()
    }

    /// The first revision after which every change is still known. Older watches and exact lists are expired.
    pub fn compacted_revision(&self) -> u64 {
        self.shared.hub.compacted()
    }

    /// One object as it is now.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.shared.get(key)
    }

    /// All objects as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.state())
    }

    /// All objects as they were at `revision`. A revision that is not there yet gives the current snapshot.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Expired> {
        self.shared.snapshot_at(revision)
    }

    /// Keeps `snapshot` for [`Store::snapshot_at`] beyond the history, within [`RetainOptions`].
    pub fn retain(&self, snapshot: &Snapshot) {
        self.shared.retain(snapshot.clone());
    }

    /// Every change of `scope` after `revision`. Together with a snapshot of that revision nothing is missed and
    /// nothing comes twice. A revision that is not there yet is waited for.
    pub fn watch(&self, scope: Scope, revision: u64) -> Result<Watcher, Expired> {
        self.shared.hub.watch(scope, revision)
    }

    /// Writes a copy of the store as it is now to the file `path`, which must not exist, and returns its revision.
    /// Put into an empty folder as `store.redb` it is a store. Blocks on the disk; writes go on meanwhile.
    pub fn backup(&self, path: &Path) -> Result<u64, BackupError> {
        if path.try_exists().unwrap_or(true) {
            return Err(BackupError::Exists {
                path: path.to_owned(),
            });
        }
        let snapshot = self.snapshot();
        let everything = Scope::everything();
        write_copy(path, snapshot.revision(), snapshot.list(&everything))?;
        Ok(snapshot.revision())
    }

    /// Finishes the writes that were sent before, closes the file and releases the folder. Later writes are
    /// refused, reads go on, watchers end when they have seen everything.
    pub async fn close(&self) {
        // An error says that the writer has ended already.
        let _ = self.commands.send(Command::Close).await;
        let mut closed = self.service.closed.clone();
        let _ = closed.wait_for(|closed| *closed).await;
        let thread = self
            .service
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It has nothing left to do. A panic was reported by its thread.
            let _ = thread.join();
        }
    }
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Nothing is overwritten.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The disk did not take it.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Tells everybody that the writer has ended, however it ended.
#[derive(Debug)]
struct Exit {
    shared: Arc<Shared>,
    closing: signal::Sender<bool>,
}

impl Drop for Exit {
    fn drop(&mut self) {
        self.shared.hub.close();
        self.closing.send_replace(true);
    }
}

#[cfg(test)]
pub(crate) mod tests;
