//! The body of a watch response: one event per line.

use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// Splits the body into lines. Bytes that follow the last returned line stay in the buffer.
#[derive(Debug)]
pub(crate) struct WatchStream {
    body: Incoming,
    buffer: BytesMut,
}

impl WatchStream {
    pub(crate) fn new(body: Incoming) -> Self {
        Self {
            body,
            buffer: BytesMut::new(),
        }
    }

    /// The next complete line; `None` at the end of the stream or if the connection fails.
    pub(crate) async fn line(&mut self) -> Option<BytesMut> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Some(self.buffer.split_to(end + 1));
            }
            let frame = self.body.frame().await?.ok()?;
            if let Some(data) = frame.data_ref() {
                self.buffer.extend_from_slice(data);
            }
        }
    }

    /// What follows the last newline, once the stream has ended.
    pub(crate) fn remainder(&mut self) -> Option<BytesMut> {
        let rest = self.buffer.split();
        (!rest.is_empty()).then_some(rest)
    }

    /// The number of bytes until the end of the stream.
    pub(crate) async fn drain(mut self) -> usize {
        let mut bytes = self.buffer.len();
        while let Some(Ok(frame)) = self.body.frame().await {
            bytes += frame.data_ref().map_or(0, bytes::Bytes::len);
        }
        bytes
    }
}
