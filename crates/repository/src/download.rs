//! Bytes from an address, from the cache where that is as good.

use url::Url;

use crate::access::Access;
use crate::cache::{Cache, Note};
use crate::http::{Answer, Ask, Http, key};
use crate::{Error, error};

/// Bytes with their digest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: String,
    /// Whether the server could not be asked, so that it may have newer ones
    pub(crate) offline: bool,
}

/// Where to get them, and as whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) url: &'a Url,
    /// The server that the credentials are for
    pub(crate) home: &'a Url,
    pub(crate) access: &'a Access,
    pub(crate) limit: u64,
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

    /// What the address has now. If the server cannot be reached: what it had when it last could.
    pub(crate) async fn current(&self, place: Place<'_>) -> Result<Blob, Error> {
        let key = key(place.url, place.access);
        let known = self.known(key.clone()).await;
        let note = known.as_ref().map(|(note, _)| note);
        match self.http.get(&ask(place, note)).await {
            Ok(Answer::Body { bytes, note }) => Ok(self.keep(Some(key), bytes, note).await),
            Ok(Answer::NotModified) => match known {
                Some((note, bytes)) => Ok(blob(bytes, note, false)),
                None => Err(Error::Status {
                    url: error::shown(place.url),
                    status: 304,
                }),
            },
            Err(error) => match known.filter(|_| error.is_transient()) {
                Some((note, bytes)) => {
                    tracing::warn!("{error}; what it had before is used");
                    Ok(blob(bytes, note, true))
                }
                None => Err(error),
            },
        }
    }

    /// The bytes with this digest and no others.
    pub(crate) async fn exact(&self, place: Place<'_>, digest: &str) -> Result<Blob, Error> {
        let cache = self.cache.clone();
        let wanted = digest.to_owned();
        let cached = blocking(move || cache.blob(&wanted)).await.flatten();
        if let Some(bytes) = cached {
            return Ok(Blob {
                bytes,
                digest: digest.to_owned(),
                offline: false,
            });
        }
        let Answer::Body { bytes, note } = self.http.get(&ask(place, None)).await? else {
            return Err(Error::Status {
                url: error::shown(place.url),
                status: 304,
            });
        };
        if note.digest != digest {
            return Err(Error::DigestMismatch {
                url: error::shown(place.url),
                expected: digest.to_owned(),
                found: note.digest,
            });
        }
        Ok(self.keep(None, bytes, note).await)
    }

    /// What is in the cache of an address, if all of it is there and whole.
    async fn known(&self, key: String) -> Option<(Note, Vec<u8>)> {
        let cache = self.cache.clone();
        let look = move || {
            let note = cache.note(&key)?;
            let bytes = cache.blob(&note.digest)?;
            Some((note, bytes))
        };
        blocking(look).await.flatten()
    }

    async fn keep(&self, key: Option<String>, bytes: Vec<u8>, note: Note) -> Blob {
        let cache = self.cache.clone();
        let kept = blocking(move || {
            cache.put_blob(&note.digest, &bytes);
            if let Some(key) = key {
                cache.put_note(&key, &note);
            }
            blob(bytes, note, false)
        });
        kept.await.expect("writing a cache does not panic")
    }
}

fn ask<'a>(place: Place<'a>, known: Option<&'a Note>) -> Ask<'a> {
    Ask {
        url: place.url,
        home: place.home,
        access: place.access,
        known,
        limit: place.limit,
    }
}

fn blob(bytes: Vec<u8>, note: Note, offline: bool) -> Blob {
    Blob {
        bytes,
        digest: note.digest,
        offline,
    }
}

/// Does slow work where it holds up nobody. None if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
