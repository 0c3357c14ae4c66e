//! Pushes blobs: skips those that exist, mounts those of other repositories, and resumes uploads that break.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use outrigger_transport::{Retry, TransportError, is_same_origin, redact};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE};
use reqwest::{Body, Method, Response, StatusCode};
use tokio::sync::mpsc;
use url::Url;

use crate::answer::status_error;
use crate::auth::Scope;
use crate::blob::Blob;
use crate::buffers::Buffers;
use crate::client::{AttemptError, Call, Client, unreachable};
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::Descriptor;
use crate::reference::Repository;
use crate::registry::header;

/// Chunks between a download and an upload.
const QUEUE: usize = 2;

/// How a blob got into a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// It was there.
    Skipped,
    /// The registry took it from another of its repositories.
    Mounted,
    /// It was sent.
    Sent,
}

/// Where a registry may take a blob from instead of receiving it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mount<'a> {
    /// This repository
    From(&'a str),
    /// Any of its repositories
    Any,
    /// None: what the registry has is damaged.
    Never,
}

impl Mount<'_> {
    /// What a repeated upload may use: the given repository did not have the blob.
    fn again(self) -> Self {
        match self {
            Self::From(_) | Self::Any => Self::Any,
            Self::Never => Self::Never,
        }
    }
}

impl<'a> From<Option<&'a str>> for Mount<'a> {
    fn from(repository: Option<&'a str>) -> Self {
        repository.map_or(Self::Any, Self::From)
    }
}

/// Where an upload continues.
enum Session {
    Mounted,
    Open { location: Url },
}

impl Client {
    /// Pushes a blob to a repository. If the registry has it in the repository `mount`, it need not be sent.
    pub async fn push_blob(
        &self,
        to: &Repository,
        blob: Blob,
        mount: Option<&str>,
    ) -> Result<Transfer, Error> {
        let digest = blob.descriptor().digest.clone();
        if let Some(transfer) = self.reuse_blob(to, blob.descriptor(), mount).await? {
            return Ok(transfer);
        }
        self.upload(to, blob, mount.into(), &mut |_| {})
            .await
            .map_err(|source| Error::Transfer {
                digest,
                to: to.to_string(),
                source: Box::new(source),
            })
    }

    /// Finds a blob in a repository. A size that differs is an error: what the registry has is damaged.
    pub async fn reuse_blob(
        &self,
        to: &Repository,
        blob: &Descriptor,
        mount: Option<&str>,
    ) -> Result<Option<Transfer>, Error> {
        // Registries answer a mount of a blob that is there as if it was mounted, so one request is enough.
        if mount.is_some() {
            return Ok(None);
        }
        match self.blob_size(to, &blob.digest).await? {
            Some(size) if size == blob.size => Ok(Some(Transfer::Skipped)),
            Some(found) => Err(damaged(to, blob, found)),
            None => Ok(None),
        }
    }

    /// Reads a blob of a repository, and compares it with its digest. A registry that lets nobody read is trusted for the
    /// digest. What is wrong with the blob is an [`Error::Damaged`].
    pub async fn verify_blob(&self, of: &Repository, blob: &Descriptor) -> Result<(), Error> {
        match self.blob_size(of, &blob.digest).await? {
            Some(size) if size == blob.size => {}
            Some(found) => return Err(damaged(of, blob, found)),
            None => {
                let what = format!("blob {} of {of}", blob.digest);
                return Err(Error::NotFound { what });
            }
        }
        let mut content = Blob::remote(self, of, blob);
        loop {
            match content.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) if error.is_unauthorized() => return Ok(()),
                Err(error @ (Error::DigestMismatch { .. } | Error::SizeMismatch { .. })) => {
                    return Err(Error::Damaged {
                        digest: blob.digest.clone(),
                        repository: of.to_string(),
                        source: Box::new(error),
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a blob, and reports the bytes that were sent.
    pub async fn upload(
        &self,
        to: &Repository,
        mut blob: Blob,
        mount: Mount<'_>,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Transfer, Error> {
        let digest = blob.descriptor().digest.clone();
        let mut location = match self.start_upload(to, &digest, mount).await? {
            Session::Mounted => return Ok(Transfer::Mounted),
            Session::Open { location } => location,
        };
        // A registry that does not mount may still have the blob.
        if matches!(mount, Mount::From(_))
            && self.blob_size(to, &digest).await? == Some(blob.descriptor().size)
        {
            return Ok(Transfer::Skipped);
        }
        let (mut offset, mut best, mut attempts) = (0, 0, 0);
        loop {
            let failure = match self
                .send_rest(to, &mut blob, &location, offset, progress)
                .await
            {
                Ok(()) => return Ok(Transfer::Sent),
                Err(failure) => failure,
            };
            attempts += 1;
            let backoff = &self.shared.options.backoff;
            let Some(delay) = backoff.delay_for(attempts, failure.retry) else {
                return Err(failure.error);
            };
            tracing::debug!(
                "{}; resuming the upload of {digest} in {delay:?}",
                failure.error
            );
            tokio::time::sleep(delay).await;
            // The failed request may have completed the upload.
            if mount != Mount::Never
                && self.blob_size(to, &digest).await? == Some(blob.descriptor().size)
            {
                return Ok(Transfer::Sent);
            }
            (location, offset) = match self.upload_status(to, &location).await? {
                // The range of an upload with one byte looks like that of an empty one, so both begin again.
                // Nor can it continue after what was read.
                Some((location, offset)) if offset > 0 && offset <= blob.verified() => {
                    (location, offset)
                }
                _ => match self.start_upload(to, &digest, mount.again()).await? {
                    Session::Mounted => return Ok(Transfer::Mounted),
                    Session::Open { location } => (location, 0),
                },
            };
            if offset > best {
                (best, attempts) = (offset, 0);
            }
            blob.seek(offset);
        }
    }

    async fn start_upload(
        &self,
        to: &Repository,
        digest: &Digest,
        mount: Mount<'_>,
    ) -> Result<Session, Error> {
        let mut url = self.url(to.registry(), &format!("{}/blobs/uploads/", to.path()))?;
        // Without a source, a registry may mount the blob from any repository, or begin an upload.
        if mount != Mount::Never {
            url.query_pairs_mut()
                .append_pair("mount", &digest.to_string());
        }
        let scope = match mount {
            Mount::From(from) => {
                url.query_pairs_mut().append_pair("from", from);
                Scope::mount(to.path(), from)
            }
            Mount::Any | Mount::Never => Scope::push(to.path()),
        };
        let call = Call::new(Method::POST, to, url, scope);
        let response = self.execute(&call).await?;
        match response.status() {
            StatusCode::CREATED => Ok(Session::Mounted),
            StatusCode::ACCEPTED => {
                let location = upload_location(&response, &call.url)?;
                Ok(Session::Open { location })
            }
            _ => Err(status_error(response, &call.url).await),
        }
    }

    /// Where an upload continues; none if the registry dropped it.
    async fn upload_status(
        &self,
        to: &Repository,
        location: &Url,
    ) -> Result<Option<(Url, u64)>, Error> {
        let call = Call::new(Method::GET, to, location.clone(), Scope::push(to.path()));
        let response = self.execute(&call).await?;
        if response.status() != StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let range = header(response.headers(), RANGE.as_str());
        let last = range.and_then(|range| {
            range
                .trim_start_matches("bytes=")
                .strip_prefix("0-")?
                .parse::<u64>()
                .ok()
        });
        let next = upload_location(&response, location).unwrap_or_else(|_| location.clone());
        // An empty upload has the range 0-0, too.
        let offset = match last {
            Some(0) => Some(0),
            Some(last) => last.checked_add(1),
            None => None,
        };
        Ok(offset.map(|offset| (next, offset)))
    }

    /// Sends the blob from `offset` on, and completes the upload.
    async fn send_rest(
        &self,
        to: &Repository,
        blob: &mut Blob,
        location: &Url,
        offset: u64,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), AttemptError> {
        let descriptor = blob.descriptor().clone();
        let left = descriptor.size.saturating_sub(offset);
        let mut location = location.clone();
        if offset > 0 && left > 0 {
            location = self
                .send_part(to, blob, &location, offset, progress)
                .await?;
        }
        let whole = offset == 0;
        let mut url = location;
        url.query_pairs_mut()
            .append_pair("digest", &descriptor.digest.to_string());
        let call = Call::new(Method::PUT, to, url, Scope::push(to.path()))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, &(if whole { left } else { 0 }).to_string());
        let response = if whole {
            self.stream(&call, blob, left, progress).await?
        } else {
            self.attempt(&call, None).await?
        };
        if response.status() == StatusCode::CREATED {
            return Ok(());
        }
        Err(upload_error(response, &call.url).await)
    }

    /// Sends the rest of a blob whose beginning the registry has.
    async fn send_part(
        &self,
        to: &Repository,
        blob: &mut Blob,
        location: &Url,
        offset: u64,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Url, AttemptError> {
        let size = blob.descriptor().size;
        let call = Call::new(Method::PATCH, to, location.clone(), Scope::push(to.path()))
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_LENGTH, &(size - offset).to_string())
            .header(CONTENT_RANGE, &format!("{offset}-{}", size - 1));
        let response = self.stream(&call, blob, size - offset, progress).await?;
        if response.status() != StatusCode::ACCEPTED {
            return Err(upload_error(response, &call.url).await);
        }
        Ok(upload_location(&response, location)?)
    }

    /// Sends a body while it is read. An error of the source takes precedence over that of the upload.
    async fn stream(
        &self,
        call: &Call<'_>,
        blob: &mut Blob,
        length: u64,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Response, AttemptError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let body = ChannelBody {
            receiver,
            left: length,
        };
        let deadline = self.shared.options.read_timeout;
        let request = self.attempt(call, Some(Body::wrap(body)));
        let buffers = &self.shared.buffers;
        let pump = pump(blob, sender, buffers, deadline, progress);
        tokio::pin!(request, pump);
        let pumped = tokio::select! {
            response = &mut request => return response,
            pumped = &mut pump => pumped,
        };
        match pumped {
            Ok(true) => {}
            Ok(false) => return Err(unreachable(&call.url, TransportError::Timeout, None)),
            Err(error) => return Err(error.into()),
        }
        let limit = self.shared.options.first_byte_timeout * 5;
        if let Ok(response) = tokio::time::timeout(limit, request).await {
            response
        } else {
            let seconds = limit.as_secs();
            Err(unreachable(
                &call.url,
                TransportError::NoAnswer { seconds },
                None,
            ))
        }
    }
}

/// Reads a blob into a channel. False if the other side stopped reading.
async fn pump(
    blob: &mut Blob,
    sender: mpsc::Sender<Bytes>,
    buffers: &Buffers,
    deadline: std::time::Duration,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<bool, Error> {
    loop {
        // The room is taken first, because what is read is in memory.
        let room = buffers.reserve().await?;
        let Some(chunk) = blob.next().await? else {
            return Ok(true);
        };
        let length = chunk.len() as u64;
        let chunk = room.hold(chunk);
        if sender.send_timeout(chunk, deadline).await.is_err() {
            return Ok(false);
        }
        progress(length);
    }
}

fn damaged(of: &Repository, blob: &Descriptor, found: u64) -> Error {
    let mismatch = Error::SizeMismatch {
        what: format!("blob {} of {of}", blob.digest),
        expected: blob.size,
        found,
    };
    Error::Damaged {
        digest: blob.digest.clone(),
        repository: of.to_string(),
        source: Box::new(mismatch),
    }
}

async fn upload_error(response: Response, url: &Url) -> AttemptError {
    let status = response.status().as_u16();
    let error = status_error(response, url).await;
    // The registry lost the upload, or its offset differs: it is asked where to continue.
    let retry = if matches!(status, 404 | 409 | 416) {
        Retry::After(None)
    } else {
        Retry::Never
    };
    AttemptError { error, retry }
}

/// The location of an upload. It must be on the registry itself, which gets the content and the credentials.
fn upload_location(response: &Response, url: &Url) -> Result<Url, Error> {
    let invalid = |reason: String| Error::InvalidAnswer {
        url: redact(url),
        reason,
    };
    let location = header(response.headers(), LOCATION.as_str())
        .ok_or_else(|| invalid("no location of the upload".to_owned()))?;
    let mut location = url
        .join(&location)
        .map_err(|error| invalid(format!("location of the upload: {error}")))?;
    // Behind a proxy that terminates TLS, registries send their own scheme.
    if location.host() == url.host()
        && location.scheme() == "http"
        && url.scheme() == "https"
        && location.port().is_none()
    {
        location = location
            .set_scheme("https")
            .map(|()| location.clone())
            .unwrap_or(location);
    }
    if !is_same_origin(&location, url) {
        return Err(invalid(format!(
            "the upload is at another server, {}",
            redact(&location)
        )));
    }
    Ok(location)
}

/// A body of a known length that is received from a channel. If the sender is dropped early, the request fails.
struct ChannelBody {
    receiver: mpsc::Receiver<Bytes>,
    left: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("the source of the upload failed")]
struct SourceFailed;

impl HttpBody for ChannelBody {
    type Data = Bytes;
    type Error = SourceFailed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceFailed>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        match ready!(self.receiver.poll_recv(cx)) {
            Some(chunk) => {
                self.left = self.left.saturating_sub(chunk.len() as u64);
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            None => Poll::Ready(Some(Err(SourceFailed))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use std::time::Duration;

    use super::*;
    use crate::buffers::Buffers;

    const SIZE: usize = 100_000;

    #[tokio::test]
    async fn uploads_that_are_not_read_share_one_limit_of_memory() {
        let buffers = Buffers::new(5 * u32::try_from(SIZE).unwrap());
        let content = vec![1; SIZE];
        let descriptor = Descriptor::new("a/b", Digest::of(&content), SIZE as u64);
        let mut uploads = Vec::new();
        for _ in 0..20 {
            let mut blob = Blob::memory(content.clone(), &descriptor);
            let (sender, receiver) = mpsc::channel(QUEUE);
            let buffers = buffers.clone();
            let pump = async move {
                let deadline = Duration::from_mins(1);
                pump(&mut blob, sender, &buffers, deadline, &mut |_| {}).await
            };
            uploads.push((Box::pin(pump), receiver));
        }
        let mut sent = 0;
        for _ in 0..100 {
            // Whatever order they are polled in, at most five chunks are in memory.
            let mut waiting = Vec::new();
            let mut received = Vec::new();
            for (mut pump, mut receiver) in uploads {
                let is_done = (&mut pump).now_or_never();
                received.extend(receiver.try_recv().ok());
                match is_done {
                    Some(result) => assert!(result.unwrap()),
                    None => waiting.push((pump, receiver)),
                }
            }
            let bytes: usize = received.iter().map(Bytes::len).sum();
            assert!(bytes <= 5 * SIZE, "{bytes} bytes in memory");
            sent += bytes;
            uploads = waiting;
        }
        assert_eq!((sent, uploads.len()), (20 * SIZE, 0));
    }
}
