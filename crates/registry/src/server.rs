//! Accepts connections, and dispatches requests. Clients that are slow or idle are closed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderName;
use http::{Method, Request, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Identity};
use crate::answer::{Answer, Failure, empty, json_answer, set};
use crate::handlers;
use crate::route::{NoRoute, Route};
use crate::store::{Store, StoreError};
use crate::tokens::{LIFETIME, Permission, Tokens};

/// Connections at a time.
const MAX_CONNECTIONS: usize = 2048;

/// Bytes of all bodies that are read into memory, at a time. A chart may have half of them.
const MAX_BODIES: usize = 256 << 20;

/// How long a client may take to send the header of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two removals of abandoned uploads.
const CLEANING: Duration = Duration::from_hours(1);

/// How long a shutdown waits for requests.
const DRAIN: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct ServerOptions {
    pub access: Access,
    /// Certificate chain and key in PEM
    pub tls: Option<(Vec<u8>, Vec<u8>)>,
    /// Do not accept pushes and deletions
    pub read_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("the certificate or its key is invalid: {0}")]
    Certificate(String),
    #[error("failed to listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("the system has no random numbers: {0}")]
    Random(String),
}

/// A registry that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    context: Arc<Context>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) store: Store,
    options: ServerOptions,
    tokens: Tokens,
    pub(crate) charts: handlers::ChartIndex,
    /// Uploads at a time, each of which uses a thread
    pub(crate) uploads: Semaphore,
    /// Bytes of bodies that are in memory: manifests and charts
    pub(crate) bodies: Semaphore,
    /// Charts that are unpacked at a time
    pub(crate) unpacking: Semaphore,
    /// Checks of passwords at a time, which are expensive
    passwords: Semaphore,
}

impl Server {
    pub async fn bind(
        address: SocketAddr,
        store: Store,
        options: ServerOptions,
    ) -> Result<Self, ServerError> {
        let tls = match &options.tls {
            Some((certificates, key)) => Some(acceptor(certificates, key)?),
            None => None,
        };
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServerError::Listen { address, source })?;
        let tokens = Tokens::new().map_err(|error| ServerError::Random(error.to_string()))?;
        let context = Arc::new(Context {
            store,
            options,
            tokens,
            charts: handlers::ChartIndex::default(),
            uploads: Semaphore::new(128),
            bodies: Semaphore::new(MAX_BODIES),
            unpacking: Semaphore::new(2),
            passwords: Semaphore::new(2),
        });
        Ok(Self {
            listener,
            tls,
            context,
        })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is ready, then finishes the requests that are under way.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        tokio::pin!(shutdown);
        let cleaning = (!self.context.options.read_only)
            .then(|| tokio::spawn(clean(self.context.store.clone())));
        loop {
            let permit = Arc::clone(&connections).acquire_owned();
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = async { (permit.await, self.listener.accept().await) } => accepted,
            };
            let (Ok(permit), Ok((stream, _))) = accepted else {
                // Too many open files, for example: others must be closed first.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let (context, tls) = (
                Arc::clone(&self.context),
                self.tls.clone().map(TlsAcceptor::from),
            );
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                let _permit = permit;
                serve(stream, tls, context, watcher).await;
            });
        }
        if let Some(cleaning) = cleaning {
            cleaning.abort();
        }
        let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
        let store = self.context.store.clone();
        let _ = tokio::task::spawn_blocking(move || store.flush()).await;
    }
}

/// Removes uploads that clients have left, now and from time to time.
async fn clean(store: Store) {
    let mut ticks = tokio::time::interval(CLEANING);
    loop {
        ticks.tick().await;
        let store = store.clone();
        let cleaned = tokio::task::spawn_blocking(move || store.drop_abandoned_uploads()).await;
        if let Ok(Err(error)) = cleaned {
            tracing::warn!("failed to remove abandoned uploads: {error}");
        }
    }
}

fn acceptor(certificates: &[u8], key: &[u8]) -> Result<Arc<rustls::ServerConfig>, ServerError> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let invalid = |error: &dyn std::fmt::Display| ServerError::Certificate(error.to_string());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    let chain = chain.map_err(|error| invalid(&error))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| invalid(&error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| invalid(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    context: Arc<Context>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve_http(stream, context, watcher, false).await,
        Some(acceptor) => {
            let handshake = tokio::time::timeout(HEADER_TIMEOUT, acceptor.accept(stream));
            if let Ok(Ok(stream)) = handshake.await {
                serve_http(stream, context, watcher, true).await;
            }
        }
    }
}

async fn serve_http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    context: Arc<Context>,
    watcher: hyper_util::server::graceful::Watcher,
    is_tls: bool,
) {
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(256 << 10);
    let service = service_fn(move |request| {
        let context = Arc::clone(&context);
        async move { Ok::<_, std::convert::Infallible>(answer(context, request, is_tls).await) }
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!("connection failed: {error}");
    }
}

async fn answer(context: Arc<Context>, request: Request<Incoming>, is_tls: bool) -> Answer {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let result = handle(&context, request, is_tls).await;
    let mut answer = result.unwrap_or_else(Failure::answer);
    tracing::debug!("{method} {} {}", uri.path(), answer.status().as_u16());
    let version = HeaderName::from_static("docker-distribution-api-version");
    set(&mut answer, version, "registry/2.0");
    answer
}

async fn handle(
    context: &Arc<Context>,
    request: Request<Incoming>,
    is_tls: bool,
) -> Result<Answer, Failure> {
    let route = Route::parse(request.uri().path()).map_err(no_route)?;
    if route == Route::Health {
        return Ok(empty(StatusCode::OK));
    }
    let identity = context.identify(&request).await;
    if route == Route::Token {
        // Without POST, clients of OAuth 2 fall back to GET with their password.
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(Failure::method());
        }
        return context.issue_token(identity, request.uri());
    }
    let is_read = route.is_read(request.method());
    let access = &context.options.access;
    // Clients learn from the answer to this request alone that there are tokens.
    let is_first = route == Route::Ping && identity == Identity::Anonymous;
    let is_challenged = is_first && access.tokens && access.is_restricted();
    if is_challenged || !access.permits(identity, is_read) {
        let mut challenge = context.challenge(&request, &route, is_tls);
        if matches!(identity, Identity::Token(_)) {
            challenge.push_str(",error=\"insufficient_scope\"");
        }
        return Err(Failure::unauthorized(challenge));
    }
    if context.options.read_only && !is_read {
        return Err(Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "UNSUPPORTED",
            "the registry is read-only",
        ));
    }
    handlers::dispatch(context, route, request).await
}

fn no_route(error: NoRoute) -> Failure {
    match error {
        NoRoute::Unknown => {
            Failure::new(StatusCode::NOT_FOUND, "UNSUPPORTED", "the path is unknown")
        }
        NoRoute::Name => Failure::new(
            StatusCode::BAD_REQUEST,
            "NAME_INVALID",
            "the repository name is invalid",
        ),
        NoRoute::Tag => Failure::new(StatusCode::BAD_REQUEST, "TAG_INVALID", "the tag is invalid"),
    }
}

impl Context {
    async fn identify(self: &Arc<Self>, request: &Request<Incoming>) -> Identity {
        if !self.options.access.is_restricted() {
            return Identity::Anonymous;
        }
        let access = &self.options.access;
        if !access.has_new_password(request.headers()) {
            return access.identify(request.headers(), &self.tokens);
        }
        let headers = request.headers().clone();
        let _permit = self.passwords.acquire().await.ok();
        let context = Arc::clone(self);
        let identified = tokio::task::spawn_blocking(move || {
            context.options.access.identify(&headers, &context.tokens)
        });
        identified.await.unwrap_or(Identity::Rejected)
    }

    fn challenge(&self, request: &Request<Incoming>, route: &Route, is_tls: bool) -> String {
        if !self.options.access.tokens {
            return "Basic realm=\"outrigger\"".to_owned();
        }
        let host = request
            .headers()
            .get(http::header::HOST)
            .and_then(|host| host.to_str().ok());
        let host = host
            .or_else(|| request.uri().authority().map(http::uri::Authority::as_str))
            .unwrap_or_default();
        let host: String = host
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || ".:-[]_".contains(*c))
            .collect();
        let scheme = if is_tls { "https" } else { "http" };
        let actions = if request.method() == Method::GET || request.method() == Method::HEAD {
            "pull"
        } else {
            "pull,push"
        };
        let scope = route
            .repository()
            .map(|name| format!(",scope=\"repository:{name}:{actions}\""));
        format!(
            "Bearer realm=\"{scheme}://{host}/token\",service=\"outrigger\"{}",
            scope.unwrap_or_default()
        )
    }

    fn issue_token(&self, identity: Identity, uri: &Uri) -> Result<Answer, Failure> {
        let wants_push = uri.query().is_some_and(|query| {
            query.contains("push") || query.contains("delete") || query.contains('*')
        });
        let permission = match identity {
            Identity::User => Permission::Push,
            Identity::Anonymous if self.options.access.permits(identity, !wants_push) => {
                Permission::Pull
            }
            _ => {
                return Err(Failure::unauthorized(
                    "Basic realm=\"outrigger\"".to_owned(),
                ));
            }
        };
        let token = self.tokens.issue(permission);
        let body = serde_json::json!({"token": token, "access_token": token, "expires_in": LIFETIME.as_secs()});
        Ok(json_answer(StatusCode::OK, body.to_string()))
    }

    /// Runs work that blocks on its own thread.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = self.store.clone();
        let result = tokio::task::spawn_blocking(move || work(&store)).await;
        Ok(result.unwrap_or(Err(StoreError::Canceled))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    #[tokio::test]
    async fn bodies_in_memory_share_one_limit() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind(any, store, ServerOptions::default()).await;
        let server = server.unwrap();
        let context = Arc::clone(&server.context);
        let url = format!("http://{}/v2/a/manifests/1", server.address().unwrap());
        let serving = tokio::spawn(server.run(std::future::pending()));
        let put = |size: usize| {
            let body = serde_json::json!({"schemaVersion": 2, "manifests": [], "annotations": {"a": "x".repeat(size)}});
            let request = reqwest::Client::new().put(&url).body(body.to_string());
            async { request.send().await.unwrap().status().as_u16() }
        };
        context.bodies.forget_permits(MAX_BODIES - 1000);
        assert_eq!(put(100).await, 201);
        assert_eq!(context.bodies.available_permits(), 1000);
        // A larger one takes what is free, and waits for the rest.
        let waiting = tokio::spawn(put(2000));
        let full = async {
            while context.bodies.available_permits() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(9), full)
            .await
            .unwrap();
        assert!(!waiting.is_finished());
        context.bodies.add_permits(5000);
        assert_eq!(waiting.await.unwrap(), 201);
        assert_eq!(context.bodies.available_permits(), 6000);
        serving.abort();
    }
}
