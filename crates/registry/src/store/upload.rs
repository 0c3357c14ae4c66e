//! Uploads: content that arrives in parts. They survive a restart: what arrived is in a file, and is hashed again.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_oci::{Algorithm, Digest, Hasher};

use super::{Store, StoreError, create_folder, remove};

/// Uploads whose state is kept in memory. Others are read from their files again.
const MAX_KEPT: usize = 4096;

/// Bytes that are reserved of the quota at a time.
const RESERVED: u64 = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Uploads {
    open: Mutex<HashMap<String, Arc<Slot>>>,
}

/// An upload in memory. Its size can be read while a request appends to it.
#[derive(Debug)]
struct Slot {
    size: AtomicU64,
    state: Mutex<State>,
}

/// The file is open during requests only: there may be more uploads than files can be open.
#[derive(Debug)]
struct State {
    hasher: Hasher,
    /// Whether the hash is that of the file, and the upload is not completed
    is_valid: bool,
}

/// An upload of a repository.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    store: Store,
    pub(crate) id: String,
    folder: PathBuf,
    slot: Arc<Slot>,
}

impl Store {
    pub(crate) fn start_upload(&self, repository: &str) -> Result<Upload, StoreError> {
        self.reserve(1)?;
        let mut random = [0; 16];
        let failed = |_| StoreError::Canceled;
        getrandom::fill(&mut random).map_err(failed)?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = self.path(&["uploads", &id]);
        create_folder(&folder)?;
        let owner = folder.join("repository");
        fs_err::write(&owner, repository).map_err(|error| StoreError::io(&owner, error))?;
        let path = folder.join("data");
        fs_err::File::create(&path).map_err(|error| StoreError::io(&path, error))?;
        let state = State {
            hasher: Algorithm::Sha256.hasher(),
            is_valid: true,
        };
        Ok(self.keep(id, folder, 0, state))
    }

    /// An upload of this repository. One of another repository is unknown.
    pub(crate) fn upload(&self, repository: &str, id: &str) -> Result<Upload, StoreError> {
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::UploadUnknown);
        }
        let folder = self.path(&["uploads", id]);
        let owner = fs_err::read_to_string(folder.join("repository"))
            .map_err(|_| StoreError::UploadUnknown)?;
        if owner != repository {
            return Err(StoreError::UploadUnknown);
        }
        let kept = self.shared.uploads.with(|open| open.get(id).cloned());
        if let Some(slot) = kept {
            let (store, id) = (self.clone(), id.to_owned());
            return Ok(Upload {
                store,
                id,
                folder,
                slot,
            });
        }
        let (size, state) = State::read(&folder.join("data"))?;
        Ok(self.keep(id.to_owned(), folder, size, state))
    }

    fn keep(&self, id: String, folder: PathBuf, size: u64, state: State) -> Upload {
        let slot = self.shared.uploads.with(|open| {
            if open.len() >= MAX_KEPT {
                open.retain(|_, slot| Arc::strong_count(slot) > 1);
            }
            Arc::clone(open.entry(id.clone()).or_insert_with(|| {
                Arc::new(Slot {
                    size: AtomicU64::new(size),
                    state: Mutex::new(state),
                })
            }))
        });
        let store = self.clone();
        Upload {
            store,
            id,
            folder,
            slot,
        }
    }
}

impl Uploads {
    fn with<T>(&self, f: impl FnOnce(&mut HashMap<String, Arc<Slot>>) -> T) -> T {
        f(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// The state of an upload that an earlier process received.
    fn read(path: &Path) -> Result<(u64, Self), StoreError> {
        let failed = |error| StoreError::io(path, error);
        let file = fs_err::File::open(path).map_err(|_| StoreError::UploadUnknown)?;
        let mut file = file.into_parts().0;
        let mut hasher = Algorithm::Sha256.hasher();
        let size = hash(&mut file, &mut hasher).map_err(failed)?;
        let is_valid = true;
        Ok((size, Self { hasher, is_valid }))
    }
}

/// Hashes the rest of a file, and returns its length.
pub(super) fn hash(file: &mut std::fs::File, hasher: &mut Hasher) -> std::io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(size);
        }
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
}

impl Upload {
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn size(&self) -> u64 {
        self.slot.size.load(Ordering::Acquire)
    }

    /// Appends chunks while they arrive, of which `announced` bytes are expected. Only one request at a time may do so. An
    /// upload that does not fit is dropped, so that smaller ones do.
    pub(crate) fn append(
        &self,
        announced: u64,
        chunks: &mut dyn FnMut() -> Option<bytes::Bytes>,
    ) -> Result<u64, StoreError> {
        let appended = self
            .store
            .reserve(announced)
            .and_then(|()| self.try_append(chunks));
        if let Err(StoreError::Full | StoreError::Quota { .. }) = appended {
            self.cancel()?;
        }
        appended
    }

    fn try_append(
        &self,
        chunks: &mut dyn FnMut() -> Option<bytes::Bytes>,
    ) -> Result<u64, StoreError> {
        let Ok(mut state) = self.slot.state.try_lock() else {
            return Err(StoreError::UploadBusy);
        };
        if !state.is_valid {
            return Err(StoreError::UploadUnknown);
        }
        let path = self.folder.join("data");
        let file = fs_err::OpenOptions::new().append(true).open(&path);
        let mut file = file.map_err(|_| StoreError::UploadUnknown)?.into_parts().0;
        let mut reserved = 0;
        while let Some(chunk) = chunks() {
            let length = chunk.len() as u64;
            if length > reserved {
                reserved = self.store.reserve_up_to(length.max(RESERVED), length)?;
            }
            reserved -= length;
            if let Err(error) = file.write_all(&chunk) {
                // The file may have a part of the chunk, so the state is read again.
                state.is_valid = false;
                self.store.shared.uploads.with(|open| open.remove(&self.id));
                return Err(StoreError::io(&path, error));
            }
            state.hasher.update(&chunk);
            self.slot.size.fetch_add(length, Ordering::Release);
            self.store.add_used(length);
        }
        Ok(self.size())
    }

    /// Verifies the content, and makes it a blob of the repository. A failure drops the upload.
    pub(crate) fn commit(&self, repository: &str, expected: &Digest) -> Result<(), StoreError> {
        let path = self.folder.join("data");
        let found = {
            let Ok(mut state) = self.slot.state.try_lock() else {
                return Err(StoreError::UploadBusy);
            };
            if !std::mem::take(&mut state.is_valid) {
                return Err(StoreError::UploadUnknown);
            }
            match expected.algorithm() {
                Algorithm::Sha256 => state.hasher.clone().finish(),
                algorithm @ Algorithm::Sha512 => digest_of(&path, algorithm)?,
            }
        };
        if found != *expected {
            self.cancel()?;
            return Err(StoreError::DigestInvalid {
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
        let committed = self.store.commit(&path, expected);
        match committed.and_then(|()| self.store.link(repository, expected)) {
            Ok(()) => self.forget(),
            // It cannot be completed later, either, and its space is needed.
            Err(error) => {
                self.cancel()?;
                Err(error)
            }
        }
    }

    pub(crate) fn cancel(&self) -> Result<(), StoreError> {
        remove(&self.folder.join("data"))?;
        self.forget()
    }

    fn forget(&self) -> Result<(), StoreError> {
        self.store.shared.uploads.with(|open| open.remove(&self.id));
        remove(&self.folder.join("repository"))?;
        match fs_err::remove_dir(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io(&self.folder, error))
            }
            _ => Ok(()),
        }
    }
}

/// The digest of a file.
pub(super) fn digest_of(path: &Path, algorithm: Algorithm) -> Result<Digest, StoreError> {
    let failed = |error| StoreError::io(path, error);
    let mut hasher = algorithm.hasher();
    let mut file = fs_err::File::open(path).map_err(failed)?.into_parts().0;
    hash(&mut file, &mut hasher).map_err(failed)?;
    Ok(hasher.finish())
}
