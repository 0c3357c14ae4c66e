//! Bounds the responses of servers that a kubeconfig in a Secret names: one that sends without end must not take the memory
//! of the controller. A watch may last, but each of its events is bounded too.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::foreign_responses::{AnyBody, BoxError};

/// The maximum size of a response, and of an event of a watch.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounded {
    Response,
    /// A line of a response: an event of a watch.
    Event,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent {} of more than {} MiB", .0.noun(), MAX_BYTES >> 20)]
pub(super) struct TooLarge(Bounded);

impl Bounded {
    /// What a response to a request with this query consists of.
    pub(super) fn of(query: Option<&str>) -> Self {
        let mut parameters = query.unwrap_or_default().split('&');
        if parameters.any(|parameter| matches!(parameter, "watch=true" | "watch=1")) {
            Self::Event
        } else {
            Self::Response
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Response => "a response",
            Self::Event => "an event",
        }
    }
}

pub(super) struct BoundedBody {
    body: AnyBody,
    bounded: Bounded,
    /// The bytes of the response, or of its last line, so far.
    size: usize,
}

impl BoundedBody {
    pub(super) fn new(body: AnyBody, bounded: Bounded) -> Self {
        Self {
            body,
            bounded,
            size: 0,
        }
    }

    fn count(&mut self, data: &[u8]) -> Result<(), TooLarge> {
        match self.bounded {
            Bounded::Response => self.add(data.len()),
            Bounded::Event => data
                .split_inclusive(|byte| *byte == b'\n')
                .try_for_each(|line| {
                    self.add(line.len())?;
                    if line.ends_with(b"\n") {
                        self.size = 0;
                    }
                    Ok(())
                }),
        }
    }

    fn add(&mut self, length: usize) -> Result<(), TooLarge> {
        self.size = self.size.saturating_add(length);
        if self.size > MAX_BYTES {
            return Err(TooLarge(self.bounded));
        }
        Ok(())
    }
}

impl Body for BoundedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.count(data)
        {
            return Poll::Ready(Some(Err(error.into())));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Empty};

    use super::*;

    fn bounded(bounded: Bounded) -> BoundedBody {
        let body = Empty::new().map_err(|never| match never {});
        BoundedBody::new(body.boxed_unsync(), bounded)
    }

    #[test]
    fn a_response_is_bounded() {
        let mut body = bounded(Bounded::of(Some("limit=500")));
        let half = vec![b'\n'; MAX_BYTES / 2];
        assert_eq!(body.count(&half), Ok(()));
        assert_eq!(body.count(&half), Ok(()));
        let error = body.count(b"x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server sent a response of more than 64 MiB"
        );
    }

    #[test]
    fn a_watch_may_last_but_each_event_is_bounded() {
        let mut body = bounded(Bounded::of(Some("limit=500&watch=true")));
        let mut event = vec![b'x'; MAX_BYTES / 2];
        event.push(b'\n');
        for _ in 0..4 {
            assert_eq!(body.count(&event), Ok(()));
        }
        event.pop();
        assert_eq!(body.count(&event), Ok(()));
        assert_eq!(body.count(&event), Ok(()));
        let error = body.count(b"x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server sent an event of more than 64 MiB"
        );
    }
}
