//! Downloads files through the cache on disk.

use crate::Error;
use crate::cache::{Cache, CacheEntry};
use crate::http::{GetRequest, GetResponse, Http, cache_key};
use crate::limits::{BodyBytes, Limits};

/// Bytes with their digest.
#[derive(Debug)]
pub(crate) struct Blob {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: String,
    /// Whether the server was unreachable, so that the bytes may be outdated
    pub(crate) offline: bool,
    /// Counts downloaded bytes until it is dropped.
    pub(crate) counted: Option<BodyBytes>,
}

#[derive(Debug)]
pub(crate) struct Downloader {
    http: Http,
    cache: Cache,
}

impl Downloader {
    pub(crate) fn new(http: Http, cache: Cache) -> Self {
        Self { http, cache }
    }

    /// Downloads the file if it changed. If the server cannot be reached, returns the cached file.
    pub(crate) async fn current(&self, request: GetRequest<'_>) -> Result<Blob, Error> {
        let key = cache_key(request.url, request.access);
        let cached = self.cached(key.clone()).await;
        let entry = cached.as_ref().map(|(entry, _)| entry);
        match self.http.get(request, entry).await {
            Ok(GetResponse::Body {
                bytes,
                entry,
                counted,
            }) => Ok(Blob {
                counted: Some(counted),
                ..self.store(Some(key), bytes, entry).await
            }),
            Ok(GetResponse::NotModified) => match cached {
                Some((entry, bytes)) => Ok(blob(bytes, entry, false)),
                None => Err(not_modified(request)),
            },
            Err(error) => match cached.filter(|_| error.is_transient()) {
                Some((entry, bytes)) => {
                    tracing::warn!("{error}; using the cached file");
                    Ok(blob(bytes, entry, true))
                }
                None => Err(error),
            },
        }
    }

    /// Returns the file with this digest, from the cache or from the server.
    pub(crate) async fn by_digest(
        &self,
        request: GetRequest<'_>,
        digest: &str,
    ) -> Result<Blob, Error> {
        if let Some(blob) = self.by_content(digest).await {
            return Ok(blob);
        }
        let GetResponse::Body {
            bytes,
            entry,
            counted,
        } = self.http.get(request, None).await?
        else {
            return Err(not_modified(request));
        };
        if entry.digest != digest {
            return Err(Error::DigestMismatch {
                url: outrigger_transport::redact(request.url),
                expected: digest.to_owned(),
                found: entry.digest,
            });
        }
        Ok(Blob {
            counted: Some(counted),
            ..self.store(None, bytes, entry).await
        })
    }

    /// The limits of all downloads.
    pub(crate) fn limits(&self) -> &Limits {
        &self.http.limits
    }

    /// The file with this digest from the cache, verified.
    pub(crate) async fn by_content(&self, digest: &str) -> Option<Blob> {
        let cache = self.cache.clone();
        let digest = digest.to_owned();
        let read = move || {
            let bytes = cache.blob(&digest)?;
            let offline = false;
            Some(Blob {
                bytes,
                digest,
                offline,
                counted: None,
            })
        };
        blocking(read).await.flatten()
    }

    /// Adds a verified file to the cache.
    pub(crate) async fn keep(&self, bytes: Vec<u8>, digest: String) -> Blob {
        let entry = CacheEntry {
            digest,
            etag: None,
            last_modified: None,
        };
        self.store(None, bytes, entry).await
    }

    /// The cached file of a URL, if it is complete.
    async fn cached(&self, key: String) -> Option<(CacheEntry, Vec<u8>)> {
        let cache = self.cache.clone();
        let read = move || {
            let entry = cache.entry(&key)?;
            let bytes = cache.blob(&entry.digest)?;
            Some((entry, bytes))
        };
        blocking(read).await.flatten()
    }

    async fn store(&self, key: Option<String>, bytes: Vec<u8>, entry: CacheEntry) -> Blob {
        let cache = self.cache.clone();
        let stored = blocking(move || {
            cache.put_blob(&entry.digest, &bytes);
            if let Some(key) = key {
                cache.put_entry(&key, &entry);
            }
            blob(bytes, entry, false)
        });
        stored.await.expect("writing to the cache does not panic")
    }
}

/// A server must not answer 304 to a request without a cached file.
fn not_modified(request: GetRequest<'_>) -> Error {
    Error::UnexpectedStatus {
        url: outrigger_transport::redact(request.url),
        status: 304,
    }
}

fn blob(bytes: Vec<u8>, entry: CacheEntry, offline: bool) -> Blob {
    Blob {
        bytes,
        digest: entry.digest,
        offline,
        counted: None,
    }
}

/// Runs blocking work on a thread for it. `None` if it panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
