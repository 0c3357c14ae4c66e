//! Accepts connections and serves them: TLS, HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connections::{CloseReason, Connection, Connections, Limits};
use super::tracked_body::TrackedBody;
use super::{ServerCredentials, host, open_files};
use crate::bootstrap;
use crate::server::{Server, Service};

/// How long to wait after an accept failed.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);
/// How long open requests may take after a connection must close.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_HEADERS: u32 = 64 * 1024;
const MAX_BUFFER: usize = 4 * MAX_HEADERS as usize;
const MAX_STREAMS: u32 = 250;
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("failed to listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("refusing to listen on {address}, which other machines can reach")]
    NotLoopback { address: SocketAddr },
}

/// A bound address.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds a loopback address; other addresses only with `allow_remote`.
    pub async fn bind(address: SocketAddr, allow_remote: bool) -> Result<Self, ListenError> {
        if !address.ip().is_loopback() && !allow_remote {
            return Err(ListenError::NotLoopback { address });
        }
        let failed = |source| ListenError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Server {
    /// Serves HTTPS until the server closes. How many clients may connect depends on how many files the process may
    /// open when this is called.
    pub fn serve(&self, listener: Listener) {
        let acceptor = Acceptor {
            tls: TlsAcceptor::from(Arc::clone(&self.state.credentials.tls)),
            service: Service::authenticating(Arc::clone(&self.state)),
            connections: Arc::new(Connections::new(Limits::for_files(open_files::limit()))),
            closed: self.closed(),
        };
        // Discovery publishes the first address.
        let _ = self.state.address.set(listener.address.to_string());
        let state = Arc::clone(&self.state);
        self.spawn(bootstrap::publish_endpoints(state, listener.address));
        self.spawn(acceptor.run(listener.listener));
    }

    pub fn credentials(&self) -> &ServerCredentials {
        &self.state.credentials
    }
}

/// Accepts connections until the server closes.
struct Acceptor {
    tls: TlsAcceptor,
    service: Service,
    connections: Arc<Connections>,
    closed: watch::Receiver<bool>,
}

impl Acceptor {
    async fn run(self, listener: TcpListener) {
        // Closed when the last connection ends.
        let (open, mut all_ended) = mpsc::channel::<()>(1);
        let mut closed = self.closed.clone();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = closed.wait_for(|closed| *closed) => break,
            };
            match accepted {
                Ok((stream, address)) => self.accept(stream, address.ip(), open.clone()),
                Err(error) => {
                    // Most likely out of file descriptors: wait for connections to close.
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
        drop((listener, open));
        all_ended.recv().await;
    }

    /// Serves a connection in a task of its own, or closes it if there are too many.
    fn accept(&self, stream: TcpStream, address: IpAddr, open: mpsc::Sender<()>) {
        let Some(connection) = self.connections.open(address) else {
            tracing::debug!(%address, "refused a connection: too many are open");
            return;
        };
        let (tls, service, closed) = (self.tls.clone(), self.service.clone(), self.closed.clone());
        tokio::spawn(async move {
            let handshake = tokio::select! {
                handshake = handshake(&tls, stream) => handshake,
                _ = connection.0.must_close() => None,
            };
            if let Some(stream) = handshake {
                serve_http(stream, service, &connection.0, closed).await;
            }
            drop(open);
        });
    }
}

async fn handshake(tls: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    // Otherwise responses wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    let stream = tls.accept(stream).await;
    stream
        .inspect_err(|error| tracing::debug!(%error, "a TLS handshake failed"))
        .ok()
}

async fn serve_http(
    stream: TlsStream<TcpStream>,
    service: Service,
    connection: &Arc<Connection>,
    closed: watch::Receiver<bool>,
) {
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(stream);
    let of_request = Arc::clone(connection);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let open = of_request.begin_request();
        request.extensions_mut().insert(Arc::clone(&of_request));
        let service = service.clone();
        async move {
            let response = match host::reject(&request) {
                Some(rejection) => rejection,
                None => service.handle(request).await,
            };
            Ok::<_, Infallible>(response.map(|body| TrackedBody::new(body, open)))
        }
    });
    if is_http2 {
        let served = http2().serve_connection(stream, service);
        drive(served, connection, closed).await;
    } else {
        let served = http1().serve_connection(stream, service);
        drive(served, connection, closed).await;
    }
}

/// Serves until the client, a limit or the server ends the connection. Open requests are completed first, unless the
/// connection makes room for others.
async fn drive<C>(served: C, connection: &Connection, mut closed: watch::Receiver<bool>)
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let mut served = std::pin::pin!(served);
    tokio::select! {
        end = served.as_mut() => {
            let _ = end.inspect_err(|error| tracing::debug!(%error, "a connection ended"));
            return;
        }
        reason = connection.must_close() => match reason {
            CloseReason::Idle => {}
            CloseReason::Evicted => return,
        },
        _ = closed.wait_for(|closed| *closed) => {}
    }
    served.as_mut().graceful_shutdown();
    // After the timeout it is dropped.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, served).await;
}

/// Without timeouts: [`Connection::must_close`] has them.
fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_BUFFER).header_read_timeout(None);
    builder
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADERS)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(1024 * 1024)
        .initial_connection_window_size(4 * 1024 * 1024)
        .max_send_buf_size(1024 * 1024)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE);
    builder
}
