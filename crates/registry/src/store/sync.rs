//! Writes blobs through to the disk in the background. Those that are not there yet are marked by files, so that they
//! are verified after a power failure. A push does not wait for the disk.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use outrigger_oci::Digest;

use super::{StoreError, remove};

#[derive(Debug)]
pub(super) struct Syncer {
    folder: PathBuf,
    sender: Mutex<Sender<Work>>,
}

enum Work {
    Sync {
        path: PathBuf,
        digest: Digest,
    },
    /// Answers when everything before it is done.
    Flush(Sender<()>),
}

impl Syncer {
    pub(super) fn start(folder: PathBuf) -> Self {
        let (sender, receiver) = channel();
        let worker = folder.clone();
        std::thread::spawn(move || run(&worker, &receiver));
        let sender = Mutex::new(sender);
        Self { folder, sender }
    }

    /// Marks a blob, before it is moved to its place.
    pub(super) fn mark(&self, digest: &Digest) -> Result<(), StoreError> {
        let path = marker(&self.folder, digest);
        fs_err::File::create(&path)
            .map(drop)
            .map_err(|error| StoreError::io(&path, error))
    }

    pub(super) fn sync(&self, path: PathBuf, digest: Digest) {
        self.send(Work::Sync { path, digest });
    }

    pub(super) fn flush(&self) {
        let (sender, receiver) = channel();
        self.send(Work::Flush(sender));
        // The thread ended, so there is nothing to wait for.
        let _ = receiver.recv();
    }

    fn send(&self, work: Work) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the thread, the marker remains, and the blob is verified when the store is opened.
        let _ = sender.send(work);
    }
}

pub(super) fn marker(folder: &std::path::Path, digest: &Digest) -> PathBuf {
    folder.join(format!("{}-{}", digest.algorithm().name(), digest.hex()))
}

fn run(folder: &std::path::Path, receiver: &Receiver<Work>) {
    while let Ok(work) = receiver.recv() {
        match work {
            Work::Flush(done) => {
                let _ = done.send(());
            }
            Work::Sync { path, digest } => {
                if let Err(error) =
                    sync(&path).and_then(|()| remove(&marker(folder, &digest)).map(drop))
                {
                    tracing::warn!("failed to write {} to the disk: {error}", path.display());
                }
            }
        }
    }
}

fn sync(path: &std::path::Path) -> Result<(), StoreError> {
    match fs_err::File::open(path) {
        Ok(file) => file
            .sync_data()
            .map_err(|error| StoreError::io(path, error)),
        // It was collected meanwhile.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io(path, error)),
    }
}
