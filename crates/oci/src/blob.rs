//! Blobs that are read in chunks: from a registry, a file or memory. Each is verified before its last chunk is returned.

use std::path::PathBuf;

use bytes::Bytes;
use outrigger_transport::{TransportError, redact};
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use tokio::time::Instant;

use crate::answer::status_error;
use crate::archive::{Position, Reader};
use crate::auth::Scope;
use crate::client::{AttemptError, Call, Client, transport_error, unreachable};
use crate::digest::{Digest, Hasher};
use crate::error::Error;
use crate::manifest::Descriptor;
use crate::reference::Repository;
use crate::registry::header;

/// The bytes that must be received for a failed download to count as progress.
const PROGRESS: u64 = 64 << 10;

/// The size of the chunks that are read from files.
pub(crate) const CHUNK: usize = 256 << 10;

/// A source of the content of one blob.
#[derive(Debug)]
pub struct Blob {
    source: Source,
    check: Check,
}

#[derive(Debug)]
enum Source {
    Remote(Box<RemoteBlob>),
    Archived(FileBlob),
    File(WholeFile),
    Memory(MemoryBlob),
}

/// A file that is a blob as it is.
#[derive(Debug)]
struct WholeFile {
    path: PathBuf,
    file: Option<fs_err::File>,
}

/// The content of a small blob.
#[derive(Debug, Clone)]
pub struct MemoryBlob {
    bytes: Bytes,
    position: usize,
}

/// A blob in a registry. A download that breaks is resumed where it broke.
#[derive(Debug)]
pub struct RemoteBlob {
    client: Client,
    repository: Repository,
    response: Option<Response>,
    /// Bytes to skip, because the registry sent the blob from its start
    skip: u64,
    attempts: u32,
    progress: u64,
    /// When the last progress was made, and at which position
    moved: (Instant, u64),
}

/// A part of a file, which may be compressed.
#[derive(Debug)]
struct FileBlob {
    path: PathBuf,
    start: u64,
    position: Position,
    reader: Option<Reader>,
}

/// Verifies what is read, once, also if parts of it are read again.
#[derive(Debug)]
struct Check {
    what: Descriptor,
    /// The repository or the file that the content is read from
    origin: Option<String>,
    position: u64,
    hashed: u64,
    hasher: Option<Hasher>,
}

impl Blob {
    /// A blob of a repository.
    pub fn remote(client: &Client, repository: &Repository, descriptor: &Descriptor) -> Self {
        Self::new(
            descriptor,
            Source::Remote(Box::new(RemoteBlob {
                client: client.clone(),
                repository: repository.clone(),
                response: None,
                skip: 0,
                attempts: 0,
                progress: 0,
                moved: (Instant::now(), 0),
            })),
        )
    }

    /// A part of a file that begins at `start`. A reader of the same file may continue where another one stopped.
    pub(crate) fn archived(
        path: PathBuf,
        position: Position,
        start: u64,
        descriptor: &Descriptor,
    ) -> Self {
        let reader = None;
        Self::new(
            descriptor,
            Source::Archived(FileBlob {
                path,
                start,
                position,
                reader,
            }),
        )
    }

    /// A whole file, as it is.
    pub fn file(path: PathBuf, descriptor: &Descriptor) -> Self {
        let file = None;
        Self::new(descriptor, Source::File(WholeFile { path, file }))
    }

    pub fn memory(bytes: impl Into<Bytes>, descriptor: &Descriptor) -> Self {
        let (bytes, position) = (bytes.into(), 0);
        Self::new(descriptor, Source::Memory(MemoryBlob { bytes, position }))
    }

    fn new(descriptor: &Descriptor, source: Source) -> Self {
        let origin = match &source {
            Source::Remote(remote) => Some(remote.repository.to_string()),
            Source::Archived(FileBlob { path, .. }) | Source::File(WholeFile { path, .. }) => {
                Some(path.display().to_string())
            }
            Source::Memory(_) => None,
        };
        Self {
            source,
            check: Check {
                what: descriptor.clone(),
                origin,
                position: 0,
                hashed: 0,
                hasher: Some(descriptor.digest.algorithm().hasher()),
            },
        }
    }

    pub fn descriptor(&self) -> &Descriptor {
        &self.check.what
    }

    /// The next chunk. Cancelling the future loses nothing if the blob is sought before the next read.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.check.position == self.check.what.size {
            return self.check.end().map(|()| None);
        }
        let position = self.check.position;
        let descriptor = &self.check.what;
        let chunk = match &mut self.source {
            Source::Remote(remote) => remote.next(descriptor, position).await?,
            Source::Archived(file) => file.next(descriptor, position).await?,
            Source::File(file) => file.next(position).await?,
            Source::Memory(memory) => memory.next(),
        };
        let Some(chunk) = chunk else {
            return Err(self.check.size_mismatch(position));
        };
        self.check.add(&chunk)?;
        Ok(Some(chunk))
    }

    /// The bytes that were read and verified so far.
    pub(crate) fn verified(&self) -> u64 {
        self.check.hashed
    }

    /// Continues at another position. What was verified is not verified again.
    pub fn seek(&mut self, position: u64) {
        self.check.position = position.min(self.check.hashed);
        match &mut self.source {
            Source::Remote(remote) => remote.response = None,
            Source::Archived(file) => file.reader = None,
            Source::File(file) => file.file = None,
            Source::Memory(memory) => {
                memory.position = usize::try_from(self.check.position).unwrap_or(usize::MAX);
            }
        }
    }

    /// Reads all of a small blob.
    pub async fn read_all(mut self, limit: u64) -> Result<Vec<u8>, Error> {
        if self.check.what.size > limit {
            return Err(Error::TooLarge {
                url: self.check.what.digest.to_string(),
                limit,
            });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

impl Check {
    fn add(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let end = self.position + chunk.len() as u64;
        if end > self.what.size {
            return Err(self.size_mismatch(end));
        }
        let known = usize::try_from(self.hashed - self.position).unwrap_or(usize::MAX);
        if let Some(new) = chunk.get(known..)
            && let Some(hasher) = &mut self.hasher
        {
            hasher.update(new);
            self.hashed = self.hashed.max(end);
        }
        self.position = end;
        if end == self.what.size {
            self.end()
        } else {
            Ok(())
        }
    }

    /// Verifies the digest when all bytes were read.
    fn end(&mut self) -> Result<(), Error> {
        let Some(hasher) = self.hasher.take_if(|_| self.hashed == self.what.size) else {
            return Ok(());
        };
        let found = hasher.finish();
        if found == self.what.digest {
            return Ok(());
        }
        // The blob stays unverified: every further read fails again.
        self.hasher = Some(found.algorithm().hasher());
        Err(self.digest_mismatch(found))
    }

    /// The blob, and where it is.
    fn name(&self) -> String {
        match &self.origin {
            Some(origin) => format!("blob {} of {origin}", self.what.digest),
            None => format!("blob {}", self.what.digest),
        }
    }

    fn digest_mismatch(&self, found: Digest) -> Error {
        Error::DigestMismatch {
            what: self.name(),
            expected: self.what.digest.clone(),
            found,
        }
    }

    fn size_mismatch(&self, found: u64) -> Error {
        Error::SizeMismatch {
            what: self.name(),
            expected: self.what.size,
            found,
        }
    }
}

impl MemoryBlob {
    fn next(&mut self) -> Option<Bytes> {
        let rest = self.bytes.slice(self.position.min(self.bytes.len())..);
        self.position = self.bytes.len();
        (!rest.is_empty()).then_some(rest)
    }
}

impl RemoteBlob {
    async fn next(&mut self, blob: &Descriptor, position: u64) -> Result<Option<Bytes>, Error> {
        loop {
            let Some(response) = &mut self.response else {
                self.open(blob, position).await?;
                continue;
            };
            let result = response.chunk().await;
            let failure = match result {
                Ok(Some(chunk)) if (chunk.len() as u64) <= self.skip => {
                    self.skip -= chunk.len() as u64;
                    continue;
                }
                Ok(Some(_)) if self.is_stalled(position) => {
                    unreachable(&self.url(blob)?, TransportError::Timeout, None)
                }
                Ok(Some(mut chunk)) => {
                    let skip =
                        usize::try_from(std::mem::take(&mut self.skip)).unwrap_or(usize::MAX);
                    return Ok(Some(chunk.split_off(skip)));
                }
                // The registry says that this is all, so it is asked for the rest once more.
                Ok(None) => unreachable(
                    &self.url(blob)?,
                    TransportError::ConnectionClosed { received: position },
                    None,
                ),
                Err(error) => transport_error(&error, &self.url(blob)?, position),
            };
            self.response = None;
            self.back_off(failure, position).await?;
        }
    }

    /// Whether a registry sends so little that the download never ends.
    fn is_stalled(&mut self, position: u64) -> bool {
        let (since, from) = self.moved;
        if position >= from + PROGRESS {
            self.moved = (Instant::now(), position);
            return false;
        }
        since.elapsed() > self.client.shared.options.stall_timeout
    }

    fn url(&self, blob: &Descriptor) -> Result<url::Url, Error> {
        let path = format!("{}/blobs/{}", self.repository.path(), blob.digest);
        self.client.url(self.repository.registry(), &path)
    }

    async fn back_off(&mut self, failure: AttemptError, position: u64) -> Result<(), Error> {
        if position >= self.progress + PROGRESS {
            self.attempts = 0;
            self.progress = position;
        }
        self.attempts += 1;
        let backoff = &self.client.shared.options.backoff;
        let Some(delay) = backoff.delay_for(self.attempts, failure.retry) else {
            return Err(failure.error);
        };
        tracing::debug!(
            "{} after {position} bytes; resuming in {delay:?}",
            failure.error
        );
        tokio::time::sleep(delay).await;
        Ok(())
    }

    /// Requests the blob from a position on.
    async fn open(&mut self, blob: &Descriptor, position: u64) -> Result<(), Error> {
        let url = self.url(blob)?;
        let mut call = Call::new(
            Method::GET,
            &self.repository,
            url,
            Scope::pull(self.repository.path()),
        );
        if position > 0 {
            call = call.header(RANGE, &format!("bytes={position}-"));
        }
        let response = self.client.execute(&call).await?;
        let range = header(response.headers(), CONTENT_RANGE.as_str());
        let expected = format!("bytes {position}-");
        self.skip = match response.status() {
            StatusCode::OK => position,
            StatusCode::PARTIAL_CONTENT
                if range
                    .as_deref()
                    .is_some_and(|range| range.starts_with(&expected)) =>
            {
                0
            }
            StatusCode::PARTIAL_CONTENT => {
                return Err(Error::InvalidAnswer {
                    url: redact(&call.url),
                    reason: format!("range {range:?} instead of {expected:?}"),
                });
            }
            StatusCode::NOT_FOUND => {
                let what = format!("blob {} of {}", blob.digest, self.repository);
                return Err(Error::NotFound { what });
            }
            _ => return Err(status_error(response, &call.url).await),
        };
        self.response = Some(response);
        self.moved = (Instant::now(), position);
        Ok(())
    }
}

impl FileBlob {
    async fn next(&mut self, blob: &Descriptor, position: u64) -> Result<Option<Bytes>, Error> {
        let left = blob.size.saturating_sub(position);
        let (path, start, reader) = (self.path.clone(), self.start + position, self.reader.take());
        let shared = self.position.clone();
        let read = tokio::task::spawn_blocking(move || {
            let read = read_chunk(&path, &shared, start, left, reader);
            read.map_err(|error| Error::io(&path, error))
        });
        let (chunk, reader) = read.await.unwrap_or(Err(Error::Canceled))?;
        if chunk.len() as u64 == left {
            self.position.keep(reader);
        } else {
            self.reader = Some(reader);
        }
        Ok((!chunk.is_empty()).then_some(chunk))
    }
}

impl WholeFile {
    async fn next(&mut self, position: u64) -> Result<Option<Bytes>, Error> {
        let (path, file) = (self.path.clone(), self.file.take());
        let read = tokio::task::spawn_blocking(move || {
            use std::io::{Read as _, Seek as _};
            let read = || {
                let mut file = if let Some(file) = file {
                    file
                } else {
                    let mut file = fs_err::File::open(&path)?;
                    file.seek(std::io::SeekFrom::Start(position))?;
                    file
                };
                let mut chunk = Vec::with_capacity(CHUNK);
                (&mut file).take(CHUNK as u64).read_to_end(&mut chunk)?;
                Ok((Bytes::from(chunk), file))
            };
            read().map_err(|error| Error::io(&path, error))
        });
        let (chunk, file) = read.await.unwrap_or(Err(Error::Canceled))?;
        self.file = Some(file);
        Ok((!chunk.is_empty()).then_some(chunk))
    }
}

fn read_chunk(
    path: &std::path::Path,
    shared: &Position,
    start: u64,
    left: u64,
    reader: Option<Reader>,
) -> std::io::Result<(Bytes, Reader)> {
    use std::io::Read as _;
    let mut reader = match reader {
        Some(reader) => reader,
        None => shared.open(path, start)?,
    };
    let length = left.min(CHUNK as u64);
    let mut chunk = Vec::with_capacity(usize::try_from(length).unwrap_or(CHUNK));
    (&mut reader).take(length).read_to_end(&mut chunk)?;
    Ok((Bytes::from(chunk), reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(bytes: &[u8]) -> Descriptor {
        Descriptor::new("a/b", Digest::of(bytes), bytes.len() as u64)
    }

    #[tokio::test]
    async fn content_that_differs_from_its_descriptor_is_never_returned_whole() {
        let good = descriptor(b"content");
        let blob = Blob::memory(b"content".to_vec(), &good);
        assert_eq!(blob.read_all(100).await.unwrap(), b"content");
        for wrong in [&b"CONTENT"[..], b"conten", b"contents", b""] {
            let mut blob = Blob::memory(wrong.to_vec(), &good);
            for _ in 0..2 {
                let mut result = blob.next().await;
                if let Ok(Some(chunk)) = &result {
                    assert!(chunk.len() < 7, "{wrong:?}");
                    result = blob.next().await;
                }
                assert!(result.is_err(), "{wrong:?}");
                blob.seek(0);
            }
        }
        assert!(
            Blob::memory(b"content".to_vec(), &good)
                .read_all(6)
                .await
                .is_err()
        );
        assert_eq!(
            Blob::memory(Vec::new(), &descriptor(b""))
                .read_all(0)
                .await
                .unwrap(),
            b""
        );
        assert!(
            Blob::memory(
                Vec::new(),
                &Descriptor {
                    digest: good.digest,
                    ..descriptor(b"")
                }
            )
            .read_all(0)
            .await
            .is_err()
        );
    }

    #[tokio::test]
    async fn a_part_of_a_file_is_read_again_after_a_seek() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        let content: Vec<u8> = (0..CHUNK * 2 + 7)
            .map(|index| u8::try_from(index % 251).unwrap())
            .collect();
        fs_err::write(&path, [&b"head"[..], &content, b"tail"].concat()).unwrap();
        let whole = folder.path().join("whole");
        fs_err::write(&whole, &content).unwrap();
        let what = descriptor(&content);
        for mut blob in [
            Blob::archived(path, Position::default(), 4, &what),
            Blob::file(whole, &what),
        ] {
            let first = blob.next().await.unwrap().unwrap();
            assert_eq!(first.len(), CHUNK);
            blob.seek(10);
            let mut again = Vec::new();
            while let Some(chunk) = blob.next().await.unwrap() {
                again.extend_from_slice(&chunk);
            }
            assert!(again == content[10..]);
        }
    }
}
