//! Bodies of responses: bytes, or a part of a file that is read while it is sent.

use std::future::Future as _;
use std::io::{Read as _, Seek as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::JoinHandle;

/// The size of the chunks that are read from files.
const CHUNK: u64 = 256 << 10;

#[derive(Debug)]
pub(crate) struct Body(Kind);

#[derive(Debug)]
enum Kind {
    Bytes(Option<Bytes>),
    File(FileBody),
}

#[derive(Debug)]
struct FileBody {
    left: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle(std::fs::File),
    Reading(JoinHandle<std::io::Result<(Bytes, std::fs::File)>>),
    Failed,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self(Kind::Bytes(None))
    }

    pub(crate) fn full(bytes: Bytes) -> Self {
        Self(Kind::Bytes((!bytes.is_empty()).then_some(bytes)))
    }

    /// A part of a file. Blocks to seek.
    pub(crate) fn file(mut file: std::fs::File, start: u64, length: u64) -> std::io::Result<Self> {
        if start > 0 {
            file.seek(std::io::SeekFrom::Start(start))?;
        }
        let state = State::Idle(file);
        Ok(Self(Kind::File(FileBody {
            left: length,
            state,
        })))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match &mut self.get_mut().0 {
            Kind::Bytes(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::File(file) => file.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.is_none(),
            Kind::File(file) => file.left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Bytes(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Kind::File(file) => SizeHint::with_exact(file.left),
        }
    }
}

impl FileBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        loop {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Idle(file) => {
                    let length = self.left.min(CHUNK);
                    self.state =
                        State::Reading(tokio::task::spawn_blocking(move || read(file, length)));
                }
                State::Reading(mut reading) => {
                    let Poll::Ready(read) = Pin::new(&mut reading).poll(cx) else {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    };
                    let (bytes, file) = read.map_err(std::io::Error::other).flatten()?;
                    self.left -= bytes.len() as u64;
                    self.state = State::Idle(file);
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                State::Failed => {
                    return Poll::Ready(Some(Err(std::io::ErrorKind::UnexpectedEof.into())));
                }
            }
        }
    }
}

/// Reads exactly this many bytes: a file that became shorter is an error, not a shorter body.
fn read(mut file: std::fs::File, length: u64) -> std::io::Result<(Bytes, std::fs::File)> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    (&mut file).take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok((Bytes::from(bytes), file))
}
