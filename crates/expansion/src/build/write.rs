//! Writes what was planned. Content is read asynchronously and written by a thread, with little of it in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use outrigger_oci::Hasher;
use tokio::sync::mpsc;

use super::Error;
use super::files::FileContent;
use super::plan::{Content, Plan};
use crate::archive::{Documents, PIECE, Writer, Written};
use crate::lock::LockedEntry;
use crate::progress::Progress;

/// Pieces of content that wait for the writer.
const QUEUE: usize = 4;

/// How a package is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// The largest size of a chunk; one file if there is none.
    pub chunk_size: Option<u64>,
    /// The document of signatures.
    pub signatures: Option<String>,
}

enum Part {
    Entry(LockedEntry),
    Data(Bytes),
    /// All content of the entry, which the writer reads itself.
    Path(PathBuf),
    EndOfEntry,
    End,
}

impl Plan {
    /// Writes the package. Until it is complete and on disk, nothing has its name.
    pub async fn write(
        self,
        target: &Path,
        options: WriteOptions,
        progress: &Arc<Progress>,
    ) -> Result<Written, Error> {
        progress.expect(self.lock.size(true));
        let (sender, receiver) = mpsc::channel(QUEUE);
        let documents = OwnedDocuments {
            root: self.root.to_text(),
            lock: self.lock_text.clone(),
            options,
        };
        let (path, counted) = (target.to_owned(), Arc::clone(progress));
        let writing = tokio::task::spawn_blocking(move || {
            let mut writing = Writing {
                target: path,
                progress: counted,
                current: None,
            };
            writing.run(&documents, receiver)
        });
        let reading = self.read(&sender).await;
        drop(sender);
        let written = writing.await.unwrap_or(Err(Error::Canceled));
        match (reading, written) {
            // The reader failed because the writer did.
            (Err(Error::Canceled) | Ok(()), written) => written,
            (Err(error), _) => Err(error),
        }
    }

    async fn read(&self, sender: &mpsc::Sender<Part>) -> Result<(), Error> {
        let send = |part| async { sender.send(part).await.map_err(|_| Error::Canceled) };
        for entry in self.carried() {
            let content = self.contents.get(&entry.path).ok_or(Error::Canceled)?;
            let what = entry.path.clone();
            send(Part::Entry(entry)).await?;
            match content {
                Content::File(FileContent::Bytes(bytes)) => {
                    send(Part::Data(Bytes::copy_from_slice(bytes))).await?;
                }
                Content::File(FileContent::Path(path)) => send(Part::Path(path.clone())).await?,
                Content::Image(file) => {
                    let failed = |source| Error::Content {
                        what: what.clone(),
                        source: Box::new(source),
                    };
                    let mut blob = file.open().map_err(failed)?;
                    while let Some(bytes) = blob.next().await.map_err(failed)? {
                        send(Part::Data(bytes)).await?;
                    }
                }
            }
            send(Part::EndOfEntry).await?;
        }
        // Without this, the writer knows that the package is incomplete.
        send(Part::End).await
    }
}

struct OwnedDocuments {
    root: String,
    lock: String,
    options: WriteOptions,
}

/// The thread that writes.
struct Writing {
    target: PathBuf,
    progress: Arc<Progress>,
    current: Option<Current>,
}

/// The entry that is being written.
struct Current {
    entry: LockedEntry,
    hasher: Hasher,
    size: u64,
    /// The file that it is read from.
    path: Option<PathBuf>,
}

impl Writing {
    fn run(
        &mut self,
        documents: &OwnedDocuments,
        mut parts: mpsc::Receiver<Part>,
    ) -> Result<Written, Error> {
        let mut writer = self.written(Writer::create(
            &self.target,
            documents.options.chunk_size,
            Documents {
                root: &documents.root,
                signatures: documents.options.signatures.as_deref(),
                lock: &documents.lock,
            },
        ))?;
        loop {
            match parts.blocking_recv() {
                None => return Err(Error::Canceled),
                Some(Part::End) => return self.written(writer.finish()),
                Some(Part::Entry(entry)) => {
                    self.written(writer.begin(&entry.path, entry.mode, entry.size))?;
                    self.current = Some(Current {
                        hasher: entry.digest.algorithm().hasher(),
                        entry,
                        size: 0,
                        path: None,
                    });
                }
                Some(Part::Data(bytes)) => self.data(&mut writer, &bytes)?,
                Some(Part::Path(path)) => self.file(&mut writer, &path)?,
                Some(Part::EndOfEntry) => self.end(&mut writer)?,
            }
        }
    }

    fn written<T>(&self, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(|source| Error::Write {
            path: self.target.clone(),
            source,
        })
    }

    fn data(&mut self, writer: &mut Writer, bytes: &[u8]) -> Result<(), Error> {
        if let Some(current) = &mut self.current {
            current.hasher.update(bytes);
            current.size += bytes.len() as u64;
            if current.size > current.entry.size {
                return Err(current.changed());
            }
        }
        self.progress.add(bytes.len() as u64);
        self.written(self.progress.check())?;
        self.written(writer.data(bytes))
    }

    fn file(&mut self, writer: &mut Writer, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = fs_err::File::open(path).map_err(failed)?;
        if let Some(current) = &mut self.current {
            current.path = Some(path.to_owned());
        }
        let mut buffer = vec![0; PIECE];
        loop {
            let read = io::Read::read(&mut file, &mut buffer).map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            self.data(writer, &buffer[..read])?;
        }
    }

    /// What was written is what the lock says, whatever happened to the file in between.
    fn end(&mut self, writer: &mut Writer) -> Result<(), Error> {
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        let size = current.entry.size;
        if current.size != size || current.hasher.clone().finish() != current.entry.digest {
            return Err(current.changed());
        }
        self.written(writer.end(size))
    }
}

impl Current {
    fn changed(&self) -> Error {
        let path = self.path.clone();
        Error::Changed(path.unwrap_or_else(|| PathBuf::from(&self.entry.path)))
    }
}
