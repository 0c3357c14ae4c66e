//! Request bodies: read within limits of size, time and memory.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use outrigger_apimachinery::status::Status;

/// The largest request body in bytes.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// How long a body may take; the default of `--request-timeout`.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The memory for all bodies in bytes.
const MAX_MEMORY: usize = 512 * 1024 * 1024;

/// The memory that the bodies of all open requests use.
#[derive(Debug, Default)]
pub(crate) struct BodyMemory(AtomicUsize);

/// The body of one request, whose memory is counted until it is dropped.
#[derive(Debug)]
pub(super) struct RequestBody<'m> {
    pub(super) bytes: Bytes,
    _memory: Reservation<'m>,
}

#[derive(Debug)]
struct Reservation<'m> {
    memory: &'m BodyMemory,
    size: usize,
}

impl Reservation<'_> {
    fn grow(&mut self, size: usize) -> Result<(), Status> {
        let used = self.memory.0.fetch_add(size, Ordering::Relaxed);
        self.size = self.size.saturating_add(size);
        if used.saturating_add(size) > MAX_MEMORY {
            let message = "Too many requests, please try again later.";
            return Err(Status::too_many_requests(message, 1));
        }
        Ok(())
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.size, Ordering::Relaxed);
    }
}

/// How long the rest of a body that is too large is discarded, so that the client sees the response: some clients, such
/// as curl over HTTP/2, drop a response whose stream is reset at once.
const LINGER: Duration = Duration::from_millis(500);

/// The body of a request that has one. What is too large is not read to its end.
pub(super) async fn read<'m, B>(
    memory: &'m BodyMemory,
    method: &Method,
    headers: &HeaderMap,
    body: B,
) -> Result<RequestBody<'m>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let mut reservation = Reservation { memory, size: 0 };
    let bytes = if matches!(*method, Method::GET | Method::HEAD) {
        Bytes::new()
    } else {
        let read = read_all(&mut reservation, headers, body);
        let read = tokio::time::timeout(TIMEOUT, read).await;
        read.unwrap_or_else(|_| {
            let why =
                "request did not complete within requested timeout - context deadline exceeded";
            Err(Status::timeout(why, 0))
        })?
    };
    Ok(RequestBody {
        bytes,
        _memory: reservation,
    })
}

async fn read_all<B>(
    reservation: &mut Reservation<'_>,
    headers: &HeaderMap,
    body: B,
) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let mut body = Box::pin(body);
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > MAX_BODY as u64) {
        return Err(too_large(body));
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        reservation.grow(data.len())?;
        if reservation.size > MAX_BODY {
            return Err(too_large(body));
        }
        // Most bodies come in one piece, which is not copied.
        match (first.take(), all.is_empty()) {
            (None, true) => first = Some(data),
            (Some(begin), _) => {
                all.extend_from_slice(&begin);
                all.extend_from_slice(&data);
            }
            (None, false) => all.extend_from_slice(&data),
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// The error for a body that is too large. The rest is discarded while the client reads the response.
fn too_large<B>(mut body: Pin<Box<B>>) -> Status
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    tokio::spawn(tokio::time::timeout(LINGER, async move {
        while let Some(Ok(_)) = body.frame().await {}
    }));
    Status::request_entity_too_large(&format!("limit is {MAX_BODY}"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::channel::mpsc;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    #[tokio::test]
    async fn the_stream_of_a_body_that_is_too_large_is_not_reset_at_once() {
        let (memory, mut headers) = (BodyMemory::default(), HeaderMap::new());
        headers.insert(CONTENT_LENGTH, (MAX_BODY + 1).into());
        let (sender, receiver) = mpsc::unbounded::<Result<Frame<Bytes>, Infallible>>();
        let body = StreamBody::new(receiver);
        let error = read(&memory, &Method::POST, &headers, body).await;
        assert_eq!(error.unwrap_err().code(), 413);
        let sent = sender.unbounded_send(Ok(Frame::data(Bytes::from_static(b"x"))));
        assert!(
            sent.is_ok(),
            "a client that still sends would not see the response"
        );
    }

    #[tokio::test]
    async fn bodies_beyond_the_memory_are_rejected_and_memory_is_released() {
        let memory = BodyMemory(AtomicUsize::new(MAX_MEMORY - 10));
        let headers = HeaderMap::new();
        let read = |length: usize| {
            let body = Full::new(Bytes::from(vec![b'x'; length]));
            read(&memory, &Method::POST, &headers, body)
        };
        let body = read(10).await.unwrap();
        assert_eq!(body.bytes.len(), 10);
        assert_eq!(read(1).await.unwrap_err().code(), 429);
        drop(body);
        assert!(read(1).await.is_ok());
        assert_eq!(memory.0.load(Ordering::Relaxed), MAX_MEMORY - 10);
    }
}
