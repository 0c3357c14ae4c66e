//! A response body whose request is open until the body is sent or dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::connections::OpenRequest;
use crate::server::{Body, body};

pub(super) struct TrackedBody {
    body: Body,
    _request: OpenRequest,
}

impl TrackedBody {
    pub(super) fn new(body: Body, request: OpenRequest) -> Self {
        Self {
            body,
            _request: request,
        }
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = body::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, body::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
