//! Connections: TLS, HTTP/1.1 and HTTP/2, with timeouts and limits for clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::ServerCredentials;
use crate::bootstrap;
use crate::server::{Server, Service};

/// The timeout for the TLS handshake and for request headers.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How long open requests may take during shutdown.
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
    #[error(
        "refusing to listen on {address}, which other machines can reach; pass --allow-remote to allow it"
    )]
    NotLoopback { address: SocketAddr },
    #[error("failed to set up TLS")]
    Tls(#[source] rustls::Error),
    #[error("failed to read the certificates of the server")]
    Certificates(#[source] rustls::pki_types::pem::Error),
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
    /// Serves HTTPS until the server closes.
    pub fn serve(&self, listener: Listener) -> Result<(), ListenError> {
        let acceptor = acceptor(&self.state.credentials)?;
        // Discovery publishes the first address.
        let _ = self.state.address.set(listener.address.to_string());
        let state = Arc::clone(&self.state);
        self.spawn(bootstrap::publish_endpoints(state, listener.address));
        let service = Service::authenticating(Arc::clone(&self.state));
        let closed = self.state.closed.clone();
        self.spawn(accept(listener.listener, acceptor, service, closed));
        Ok(())
    }

    pub fn credentials(&self) -> &ServerCredentials {
        &self.state.credentials
    }
}

fn acceptor(credentials: &ServerCredentials) -> Result<TlsAcceptor, ListenError> {
    let certificates = &credentials.certificates;
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(certificates.server.as_bytes()).collect();
    let chain = chain.map_err(ListenError::Certificates)?;
    let key = PrivateKeyDer::from_pem_slice(certificates.server_key.as_bytes())
        .map_err(ListenError::Certificates)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(ListenError::Tls)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(ListenError::Tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    service: Service,
    mut closed: tokio::sync::watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let builder = Arc::new(builder());
    loop {
        let stream = tokio::select! {
            stream = listener.accept() => stream,
            _ = closed.wait_for(|closed| *closed) => break,
        };
        let stream = match stream {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Most likely out of file descriptors: wait for connections to close.
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let watcher = graceful.watcher();
        let (acceptor, service, builder) =
            (acceptor.clone(), service.clone(), Arc::clone(&builder));
        tokio::spawn(async move {
            let Some(stream) = handshake(&acceptor, stream).await else {
                return;
            };
            let service = service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
            });
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    drop(listener);
    // Remaining connections are dropped.
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
}

async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    // Otherwise responses wait for acknowledgements.
    let _ = stream.set_nodelay(true);
    match tokio::time::timeout(READ_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_TIMEOUT)
        .max_buf_size(MAX_BUFFER);
    builder
        .http2()
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
