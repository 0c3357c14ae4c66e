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

use super::watch_gate::{GatedBody, WatchGate};

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
    watch_gate: Arc<WatchGate>,
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

    /// Holds back the events of all watches.
    pub fn hold_watches(&self) {
        self.state.watch_gate.close();
    }

    /// Delivers the events that were held back.
    pub fn release_watches(&self) {
        self.state.watch_gate.open();
    }

    /// The requests that reached the server since the last call: `GET /api/v1/namespaces`, or `WATCH` for a watch. With
    /// impersonation, ` as USER` follows.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state.requests))
    }

    fn deliver(
        &mut self,
        request: Request<Body>,
    ) -> <server::Service as Service<Request<Body>>>::Future {
        let uri = request.uri();
        let method = if is_watch(&request) {
            "WATCH"
        } else {
            request.method().as_str()
        };
        let user = request.headers().get("impersonate-user");
        let user = user.and_then(|user| user.to_str().ok());
        let user = user.map(|user| format!(" as {user}")).unwrap_or_default();
        lock(&self.state.requests).push(format!("{method} {}{user}", uri.path()));
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
    type Response = Response<GatedBody>;
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
                let gate = is_watch(&request).then(|| Arc::clone(&state.watch_gate));
                let response = self.deliver(request);
                Box::pin(async move {
                    let Ok(response) = response.await;
                    Ok(response.map(|body| GatedBody::new(body, gate)))
                })
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

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.contains("watch=true")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
