//! Holds back the events of watches, so that a test decides what a client sees first.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use http_body::{Body, Frame, SizeHint};
use outrigger_apiserver::server;

/// Open, or closed with the watches that wait.
#[derive(Debug, Default)]
pub(super) struct WatchGate(Mutex<Option<Vec<Waker>>>);

impl WatchGate {
    pub(super) fn close(&self) {
        self.waiting().get_or_insert_default();
    }

    pub(super) fn open(&self) {
        let waiting = self.waiting().take();
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    fn poll_open(&self, context: &Context<'_>) -> Poll<()> {
        match &mut *self.waiting() {
            None => Poll::Ready(()),
            Some(waiting) => {
                waiting.push(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Vec<Waker>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a response. That of a watch passes the gate.
#[derive(Debug)]
pub struct GatedBody {
    body: server::Body,
    gate: Option<Arc<WatchGate>>,
}

impl GatedBody {
    pub(super) fn new(body: server::Body, gate: Option<Arc<WatchGate>>) -> Self {
        Self { body, gate }
    }
}

impl Body for GatedBody {
    type Data = <server::Body as Body>::Data;
    type Error = <server::Body as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Some(gate) = &self.gate
            && gate.poll_open(context).is_pending()
        {
            return Poll::Pending;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
