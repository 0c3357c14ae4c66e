//! Response bodies: one chunk, a list that is concatenated while it is sent, or a stream.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body::{Frame, SizeHint};
use outrigger_store::Object;

use super::response_memory::HeldMemory;

/// The approximate size of the chunks of a list.
const CHUNK: usize = 64 * 1024;

pub struct Body {
    inner: Inner,
    /// Released when the body was sent.
    memory: Option<HeldMemory>,
}

enum Inner {
    Empty,
    Full(Bytes),
    List(Box<List>),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

/// A list of stored objects between a head and a tail.
struct List {
    head: Bytes,
    objects: std::vec::IntoIter<Arc<Object>>,
    /// How many bytes at the start of each object are replaced by an opening brace.
    skipped: usize,
    is_first: bool,
    tail: Bytes,
    left: u64,
}

impl Body {
    fn new(inner: Inner) -> Self {
        Self {
            inner,
            memory: None,
        }
    }

    /// How much memory the body needs until it was sent. Lists and streams share what is stored.
    pub(super) fn buffered(&self) -> usize {
        match &self.inner {
            Inner::Full(bytes) => bytes.len(),
            Inner::Empty | Inner::List(_) | Inner::Stream(_) => 0,
        }
    }

    /// The same body, whose memory is counted.
    pub(super) fn holding(self, memory: HeldMemory) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    pub(crate) fn empty() -> Self {
        Self::new(Inner::Empty)
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::new(Inner::Full(bytes.into()))
    }

    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::new(Inner::Stream(Box::pin(stream)))
    }

    /// Objects joined with commas; an opening brace replaces the first `skipped` bytes of each.
    pub(crate) fn list(
        head: Vec<u8>,
        objects: Vec<Arc<Object>>,
        skipped: usize,
        tail: Vec<u8>,
    ) -> Self {
        let braces = u64::from(skipped > 0);
        let lengths = objects.iter().map(|object| {
            let kept = object.bytes().len().saturating_sub(skipped) as u64;
            kept.saturating_add(braces)
        });
        let commas = objects.len().saturating_sub(1);
        let parts = [head.len(), tail.len(), commas].map(|length| length as u64);
        let left = parts.into_iter().chain(lengths);
        let left = left.fold(0, u64::saturating_add);
        Self::new(Inner::List(Box::new(List {
            head: head.into(),
            objects: objects.into_iter(),
            skipped,
            is_first: true,
            tail: tail.into(),
            left,
        })))
    }

    /// The length in bytes; none for a stream.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.inner {
            Inner::Empty => Some(0),
            Inner::Full(bytes) => Some(bytes.len() as u64),
            Inner::List(list) => Some(list.left),
            Inner::Stream(_) => None,
        }
    }

    /// The whole body; empty for a stream.
    pub(crate) fn into_bytes(mut self) -> Bytes {
        match &mut self.inner {
            Inner::Empty | Inner::Stream(_) => Bytes::new(),
            Inner::Full(bytes) => std::mem::take(bytes),
            Inner::List(list) => {
                let mut all = BytesMut::with_capacity(usize::try_from(list.left).unwrap_or(0));
                while let Some(chunk) = list.chunk() {
                    all.extend_from_slice(&chunk);
                }
                all.freeze()
            }
        }
    }
}

impl List {
    fn chunk(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let size = usize::try_from(self.left)
            .unwrap_or(CHUNK)
            .min(CHUNK + CHUNK / 4);
        let mut chunk = BytesMut::with_capacity(size);
        chunk.extend_from_slice(&std::mem::take(&mut self.head));
        while chunk.len() < CHUNK {
            let Some(object) = self.objects.next() else {
                chunk.extend_from_slice(&std::mem::take(&mut self.tail));
                break;
            };
            if !std::mem::replace(&mut self.is_first, false) {
                chunk.extend_from_slice(b",");
            }
            if self.skipped > 0 {
                chunk.extend_from_slice(b"{");
            }
            chunk.extend_from_slice(&object.bytes()[self.skipped..]);
        }
        self.left = self.left.saturating_sub(chunk.len() as u64);
        Some(chunk.freeze())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.inner {
            Inner::Empty => None,
            Inner::Full(bytes) if bytes.is_empty() => None,
            // Clients that read slowly let chunks accumulate in the connection, not the whole body.
            Inner::Full(bytes) => Some(bytes.split_to(bytes.len().min(CHUNK))),
            Inner::List(list) => list.chunk(),
            Inner::Stream(stream) => match stream.as_mut().poll_next(context) {
                Poll::Ready(next) => next,
                Poll::Pending => return Poll::Pending,
            },
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
