//! A connection to the server that records requests and injects faults.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use outrigger_apiserver::server::{self, Server};
use tokio::sync::Notify;
use tower_service::Service;

/// What goes wrong on a connection, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    #[default]
    None,
    /// Every request fails.
    Unreachable,
    /// Writes fail once this many have succeeded; reads succeed.
    FailWrites { after: usize },
    /// Requests hang once this many have succeeded.
    Hang { after: usize, loss: Loss },
}

/// Which half of a hanging exchange is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The request never reaches the server.
    Request,
    /// The server processes the request, but its response is lost.
    Response,
}

/// A connection to a server, for use as the transport of a [`Client`]. Clones share the fault and the recording.
#[derive(Debug, Clone)]
pub struct Connection {
    service: server::Service,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    fault: Mutex<Fault>,
    /// A request ran into the fault.
    hit: Notify,
    requests: Mutex<Vec<String>>,
}

impl Connection {
    pub fn new(server: &Server) -> Self {
        Self {
            service: server.service(),
            state: Arc::default(),
        }
    }

    /// A client over this connection whose default namespace is `default`.
    pub fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// Replaces the fault, and forgets whether the previous one was hit.
    pub fn inject(&self, fault: Fault) {
        *lock(&self.state.fault) = fault;
        // Enabling consumes a permit that an earlier fault left behind.
        std::pin::pin!(self.state.hit.notified()).as_mut().enable();
    }

    /// Waits until a request runs into the fault.
    pub async fn fault_hit(&self) {
        self.state.hit.notified().await;
    }

    /// The requests that reached the server since the last call: `GET /api/v1/namespaces`, or `WATCH` for a watch.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state.requests))
    }

    fn deliver(
        &mut self,
        request: Request<Body>,
    ) -> <server::Service as Service<Request<Body>>>::Future {
        let uri = request.uri();
        let query = uri.query().unwrap_or_default();
        let method = if query.contains("watch=true") {
            "WATCH"
        } else {
            request.method().as_str()
        };
        lock(&self.state.requests).push(format!("{method} {}", uri.path()));
        self.service.call(request)
    }
}

/// What happens to one request.
enum Fate {
    Deliver,
    Fail,
    Hang(Loss),
}

impl Fault {
    /// Decides the fate of one request, and counts it.
    fn next_fate(&mut self, is_write: bool) -> Fate {
        match self {
            Self::Unreachable => Fate::Fail,
            Self::FailWrites { after } if is_write => match after.checked_sub(1) {
                Some(rest) => {
                    *after = rest;
                    Fate::Deliver
                }
                None => Fate::Fail,
            },
            Self::Hang { after, loss } => match after.checked_sub(1) {
                Some(rest) => {
                    *after = rest;
                    Fate::Deliver
                }
                None => Fate::Hang(*loss),
            },
            Self::None | Self::FailWrites { .. } => Fate::Deliver,
        }
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<server::Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let is_write = request.method() != Method::GET;
        let fate = lock(&self.state.fault).next_fate(is_write);
        let state = Arc::clone(&self.state);
        match fate {
            Fate::Deliver => {
                let response = self.deliver(request);
                Box::pin(async move { response.await.map_err(|never| match never {}) })
            }
            Fate::Fail => {
                state.hit.notify_one();
                Box::pin(async { Err(io::Error::other("injected fault: server unreachable")) })
            }
            Fate::Hang(Loss::Request) => {
                state.hit.notify_one();
                Box::pin(std::future::pending())
            }
            Fate::Hang(Loss::Response) => {
                let response = self.deliver(request);
                Box::pin(async move {
                    let _ = response.await;
                    state.hit.notify_one();
                    std::future::pending().await
                })
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
