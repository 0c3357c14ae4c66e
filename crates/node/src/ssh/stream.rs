//! A stream that is closed with its guard, and one whose first bytes were read before.
//!
//! russh reads from the stream in a task of its own. While it waits for an answer to its key exchange, that task does not
//! notice that nobody is interested anymore, and would wait for ever for a silent server.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// Closes the stream when dropped.
#[derive(Debug)]
pub(super) struct Guard {
    _sender: oneshot::Sender<()>,
}

#[derive(Debug)]
pub(super) struct Guarded<S> {
    stream: S,
    closed: oneshot::Receiver<()>,
}

pub(super) fn guarded<S>(stream: S) -> (Guarded<S>, Guard) {
    let (sender, closed) = oneshot::channel();
    (Guarded { stream, closed }, Guard { _sender: sender })
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.closed.is_terminated() || Pin::new(&mut self.closed).poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A stream whose first bytes were read before.
#[derive(Debug)]
pub(super) struct Greeted<S> {
    first: Bytes,
    stream: S,
}

impl<S> Greeted<S> {
    pub(super) fn new(first: Bytes, stream: S) -> Self {
        Self { first, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Greeted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let count = self.first.len().min(buffer.remaining());
        buffer.put_slice(self.first.get(..count).unwrap_or_default());
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Greeted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_waiting_read_ends_when_the_guard_is_dropped() -> io::Result<()> {
        let (silent, _peer) = tokio::io::duplex(8);
        let (mut stream, guard) = guarded(silent);
        let reader = tokio::spawn(async move { stream.read(&mut [0]).await });
        tokio::task::yield_now().await;
        drop(guard);
        assert_eq!(reader.await??, 0);
        Ok(())
    }
}
