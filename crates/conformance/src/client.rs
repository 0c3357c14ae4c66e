//! A minimal HTTP/2 client over TLS. It adds nothing to a request and returns responses unchanged, which the conformance
//! cases need, and it is cheap, which the benchmark needs. Tests of plugins use `kube`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, Response, request};
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
use tokio_rustls::client::TlsStream;

mod endpoint;
mod watch_stream;

pub(crate) use endpoint::Endpoint;
pub(crate) use watch_stream::WatchStream;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(70);

type Sender = http2::SendRequest<Full<Bytes>>;

/// A client of one server. Clones share one connection, which is reopened if the server closes it: kube-apiserver does
/// so after a request with an invalid token.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    sender: Arc<Mutex<Sender>>,
    endpoint: Arc<Endpoint>,
}

impl Client {
    pub(crate) async fn connect(endpoint: &Endpoint) -> anyhow::Result<Self> {
        Ok(Self {
            sender: Arc::new(Mutex::new(open_connection(endpoint).await?)),
            endpoint: Arc::new(endpoint.clone()),
        })
    }

    /// A request with the administrator's token.
    pub(crate) fn request(&self, method: &str, path: &str) -> request::Builder {
        self.anonymous(method, path)
            .header("authorization", format!("Bearer {}", self.endpoint.token))
    }

    /// A request without credentials.
    pub(crate) fn anonymous(&self, method: &str, path: &str) -> request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.endpoint.authority))
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> anyhow::Result<Response<Bytes>> {
        let title = format!("{} {}", request.method(), request.uri().path());
        let response = timeout(RESPONSE_TIMEOUT, async {
            let (parts, body) = self.stream(request).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            anyhow::Ok(Response::from_parts(parts, body))
        });
        response
            .await
            .with_context(|| format!("{title}: no response in {RESPONSE_TIMEOUT:?}"))?
            .with_context(|| format!("{title} failed"))
    }

    /// Sends a request and returns once the response headers are there. A request that was not sent because the
    /// connection is closing is sent on a new one.
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
            *sender = open_connection(&self.endpoint).await?;
        }
        Ok(sender.clone())
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Response<Bytes>> {
        self.send(self.request("GET", path).body(Full::default())?)
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<Response<Bytes>> {
        self.send(self.request("DELETE", path).body(Full::default())?)
            .await
    }

    /// Sends a POST request with a JSON body.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: impl Into<Bytes>,
    ) -> anyhow::Result<Response<Bytes>> {
        self.send_json("POST", path, body).await
    }

    /// Sends a PUT request with a JSON body.
    pub(crate) async fn put(
        &self,
        path: &str,
        body: impl Into<Bytes>,
    ) -> anyhow::Result<Response<Bytes>> {
        self.send_json("PUT", path, body).await
    }

    async fn send_json(
        &self,
        method: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> anyhow::Result<Response<Bytes>> {
        let request = self
            .request(method, path)
            .header("content-type", "application/json")
            .body(Full::new(body.into()))?;
        self.send(request).await
    }

    /// Opens a watch; `path` includes `watch=1`.
    pub(crate) async fn watch(&self, path: &str) -> anyhow::Result<WatchStream> {
        let request = self.request("GET", path).body(Full::default())?;
        let response = self.stream(request).await?;
        anyhow::ensure!(
            response.status() == 200,
            "WATCH returned {}",
            response.status()
        );
        Ok(WatchStream::new(response.into_body()))
    }
}

/// Opens a TLS connection that offers these protocols.
pub(crate) async fn open_tls(
    endpoint: &Endpoint,
    protocols: &[&[u8]],
) -> anyhow::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(&endpoint.authority).await?;
    stream.set_nodelay(true)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(endpoint.roots.clone())
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from(endpoint.host().to_owned())?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .with_context(|| format!("TLS handshake with {} failed", endpoint.authority))
}

async fn open_connection(endpoint: &Endpoint) -> anyhow::Result<Sender> {
    let stream = open_tls(endpoint, &[b"h2"]).await?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .handshake(TokioIo::new(stream))
        .await?;
    // The task ends when the last sender is dropped or the server closes the connection; requests then fail.
    tokio::spawn(connection);
    Ok(sender)
}
