//! Runs the workload simulation of the embedded server against a real API server, so that workloads become ready without
//! nodes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use outrigger_apiserver::loopback;
use outrigger_simulate as simulate;
use tokio::sync::watch;
use tower_service::Service;

/// The delay of each step of a simulated pod.
const DELAY: Duration = Duration::from_millis(20);

/// A running simulation; dropping it stops it.
#[derive(Debug)]
pub(super) struct SimulatedWorkloads {
    _close: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl SimulatedWorkloads {
    pub(super) fn start(client: Client) -> Self {
        let local = loopback::Client::new(Connection(client), "simulation");
        let (close, closed) = watch::channel(false);
        let options = simulate::Options {
            delay: DELAY,
            ..simulate::Options::default()
        };
        Self {
            _close: close,
            task: tokio::spawn(simulate::run(local, options, closed)),
        }
    }
}

impl Drop for SimulatedWorkloads {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The transport of the simulation's client, in place of the embedded server.
#[derive(Clone)]
struct Connection(Client);

type Request = http::Request<http_body_util::Full<bytes::Bytes>>;
type Outcome = Result<http::Response<Body>, kube::Error>;

impl Service<Request> for Connection {
    type Response = http::Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Outcome> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let client = self.0.clone();
        async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await;
            let body = Body::from(body.to_bytes());
            client.send(http::Request::from_parts(parts, body)).await
        }
        .boxed()
    }
}
