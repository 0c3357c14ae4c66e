//! Response bodies: one chunk, a list that is concatenated while it is sent, or a stream.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};
use outrigger_apimachinery::status::Status;

use super::State;
use super::computed_body::{self, Chunks};
use super::response_memory::HeldMemory;
use super::spliced_list::SplicedList;
use crate::panics::Panic;

/// The approximate size of the chunks of a list.
pub(crate) const CHUNK: usize = 64 * 1024;

/// Why a body ends before it is complete.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to render the response")]
    Failed(#[source] Status),
    #[error(transparent)]
    Panicked(#[from] Panic),
    #[error("the server is shutting down")]
    Closed,
    #[error("responses that clients have not read use all of their memory")]
    OutOfMemory,
}

pub struct Body {
    inner: Inner,
    /// How much memory it needs until it was sent, beyond what it shares with the store.
    buffered: usize,
    /// Released when the body was sent.
    memory: Option<HeldMemory>,
}

enum Inner {
    Empty,
    Full(Bytes),
    List(Box<SplicedList>),
    /// The rest of the last chunk, and the further ones.
    Stream(Bytes, ChunkStream),
}

type ChunkStream = Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>;

impl Body {
    fn new(inner: Inner, buffered: usize) -> Self {
        Self {
            inner,
            buffered,
            memory: None,
        }
    }

    /// How much memory the body needs until it was sent.
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    /// The same body, whose memory is counted.
    pub(super) fn holding(self, memory: HeldMemory) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    pub(crate) fn empty() -> Self {
        Self::new(Inner::Empty, 0)
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        // Stored objects and cached documents are there anyway.
        let buffered = if bytes.is_unique() { bytes.len() } else { 0 };
        Self::new(Inner::Full(bytes), buffered)
    }

    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let stream = Box::pin(stream.map(Ok));
        Self::new(Inner::Stream(Bytes::new(), stream), 0)
    }

    pub(crate) fn list(list: SplicedList) -> Self {
        Self::new(Inner::List(Box::new(list)), 0)
    }

    /// Chunks that are computed while they are sent, with the memory that they need at a time.
    pub(crate) fn computed(state: Arc<State>, chunks: Chunks, buffered: usize) -> Self {
        let stream = Box::pin(computed_body::stream(state, chunks, buffered));
        Self::new(Inner::Stream(Bytes::new(), stream), buffered)
    }

    /// The length in bytes; none for a stream.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.inner {
            Inner::Empty => Some(0),
            Inner::Full(bytes) => Some(bytes.len() as u64),
            Inner::List(list) => Some(list.length()),
            Inner::Stream(..) => None,
        }
    }
}

/// Takes the first part of a chunk. Clients that read slowly let parts accumulate in the connection, not whole chunks.
fn part(chunk: &mut Bytes) -> Bytes {
    chunk.split_to(chunk.len().min(CHUNK))
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = match &mut self.inner {
            Inner::Empty => None,
            Inner::Full(bytes) if bytes.is_empty() => None,
            Inner::Full(bytes) => Some(part(bytes)),
            Inner::List(list) => list.next(),
            Inner::Stream(chunk, chunks) => {
                if chunk.is_empty() {
                    match std::task::ready!(chunks.as_mut().poll_next(context)) {
                        Some(next) => *chunk = next?,
                        None => return Poll::Ready(None),
                    }
                }
                Some(part(chunk))
            }
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.length() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        match self.length() {
            Some(length) => SizeHint::with_exact(length),
            None => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may be secret.
        formatter
            .debug_struct("Body")
            .field("length", &self.length())
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
