//! A cheap HTTP/2 client over TLS: it adds nothing to a request and hides nothing of an answer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::endpoint::Endpoint;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(70);

type Sender = http2::SendRequest<Full<Bytes>>;

/// One connection to one server; clones share it. A real server ends it after a wrong token: the next request
/// then makes a new one.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    sender: Arc<Mutex<Sender>>,
    endpoint: Arc<Endpoint>,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) async fn connect(endpoint: &Endpoint) -> anyhow::Result<Self> {
        Ok(Self {
            sender: Arc::new(Mutex::new(connection(endpoint).await?)),
            endpoint: Arc::new(endpoint.clone()),
        })
    }

    /// A request of the administrator.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        self.anonymous(method, path)
            .header("authorization", format!("Bearer {}", self.endpoint.token))
    }

    /// A request of nobody.
    pub(crate) fn anonymous(&self, method: &str, path: &str) -> http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.endpoint.authority))
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Answer> {
        let shown = format!("{} {}", request.method(), request.uri().path());
        let answer = timeout(PATIENCE, async {
            let (parts, body) = self.stream(request).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, anyhow::Error>(Answer {
                status: parts.status,
                headers: parts.headers,
                body,
            })
        });
        answer
            .await
            .with_context(|| format!("{shown}: no answer in {PATIENCE:?}"))?
            .with_context(|| format!("{shown} failed"))
    }

    /// Sends it and leaves the body to be read. A request that a dying connection has not taken goes to a new one.
    pub(crate) async fn stream(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> anyhow::Result<Response<Incoming>> {
        loop {
            let mut sender = self.sender().await?;
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
    }

    async fn sender(&self) -> anyhow::Result<Sender> {
        let mut sender = self.sender.lock().await;
        if sender.is_closed() {
            *sender = connection(&self.endpoint).await?;
        }
        Ok(sender.clone())
    }

    /// GET as the administrator.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.request("GET", path).body(Full::default())?)
            .await
    }

    /// POST a JSON body as the administrator.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> anyhow::Result<Answer> {
        let request = self
            .request("POST", path)
            .header("content-type", "application/json")
            .body(Full::new(body.into()))?;
        self.send(request).await
    }
}

async fn connection(endpoint: &Endpoint) -> anyhow::Result<Sender> {
    let stream = TcpStream::connect(&endpoint.authority).await?;
    stream.set_nodelay(true)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(endpoint.roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(endpoint.host().to_owned())?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .with_context(|| format!("no TLS with {}", endpoint.authority))?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .handshake(TokioIo::new(stream))
        .await?;
    // It ends when the last sender is dropped or the server goes away; requests then say so.
    tokio::spawn(connection);
    Ok(sender)
}
