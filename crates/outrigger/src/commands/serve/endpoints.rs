//! The HTTP endpoints of `serve`: probes, and metrics for Prometheus.
//!
//! Probes say `ok` or what is wrong in a few words, so they need no token. Metrics on a loopback address need none
//! either. On any other address they are served over TLS, to clients that the cluster authorizes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use outrigger_controller::Metrics;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::authorization::Authorizer;
use super::tls;
use crate::commands::listen::bind_hint;
use crate::report::hinted;

/// More connections wait until one is closed.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may last, whatever the client does.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

type Reply = Response<Full<Bytes>>;

/// What an address serves.
enum Endpoint {
    Probes(Arc<Metrics>),
    Metrics {
        metrics: Arc<Metrics>,
        /// `None` on loopback.
        authorizer: Option<Authorizer>,
    },
}

/// Serves `/healthz` and `/readyz` in the background.
pub(super) async fn serve_probes(
    address: SocketAddr,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<()> {
    let endpoint = Endpoint::Probes(Arc::clone(metrics));
    let listener = bind(address, "probes").await?;
    tokio::spawn(accept(listener, endpoint, None));
    Ok(())
}

/// Serves `/metrics` in the background.
pub(super) async fn serve_metrics(
    address: SocketAddr,
    metrics: &Arc<Metrics>,
    client: Client,
) -> anyhow::Result<()> {
    let is_loopback = address.ip().is_loopback();
    let endpoint = Endpoint::Metrics {
        metrics: Arc::clone(metrics),
        authorizer: (!is_loopback).then(|| Authorizer::new(client)),
    };
    let acceptor = if is_loopback {
        None
    } else {
        Some(tls::acceptor()?)
    };
    let listener = bind(address, "metrics").await?;
    tokio::spawn(accept(listener, endpoint, acceptor));
    Ok(())
}

async fn bind(address: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        let hint = bind_hint(error.kind());
        hinted(error, hint)
    });
    let listener = listener.with_context(|| format!("failed to listen on {address}"))?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "serving {what}");
    Ok(listener)
}

async fn accept(listener: TcpListener, endpoint: Endpoint, tls: Option<tls::Acceptor>) {
    let endpoint = Arc::new(endpoint);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of open files, for example: the others may close some.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (endpoint, tls) = (Arc::clone(&endpoint), tls.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let connection = async {
                match tls {
                    None => serve_connection(stream, &endpoint).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            serve_connection(stream, &endpoint).await;
                        }
                    }
                }
            };
            // A client that is too slow loses its connection.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
        });
    }
}

async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send, endpoint: &Endpoint) {
    let service = service_fn(async |request| Ok::<_, Infallible>(endpoint.reply(&request).await));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "connection failed");
    }
}

impl Endpoint {
    async fn reply(&self, request: &Request<Incoming>) -> Reply {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
        }
        match (self, request.uri().path()) {
            (Self::Probes(metrics), "/healthz") => {
                probe(metrics.is_alive(), "the controller loop hangs")
            }
            (Self::Probes(metrics), "/readyz") => {
                probe(metrics.is_ready(), "the initial lists are not complete")
            }
            (
                Self::Metrics {
                    metrics,
                    authorizer,
                },
                "/metrics",
            ) => match status(authorizer.as_ref(), request).await {
                StatusCode::OK => page(metrics),
                status => text(status, "a token that may get /metrics is required\n"),
            },
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

/// Whether a client may read the metrics, as a status code.
async fn status(authorizer: Option<&Authorizer>, request: &Request<Incoming>) -> StatusCode {
    let Some(authorizer) = authorizer else {
        return StatusCode::OK;
    };
    let header = request.headers().get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    let Some(token) = header.and_then(|value| value.strip_prefix("Bearer ")) else {
        return StatusCode::UNAUTHORIZED;
    };
    authorizer.status(token.trim()).await
}

fn probe(is_ok: bool, problem: &str) -> Reply {
    if is_ok {
        text(StatusCode::OK, "ok\n")
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, &format!("{problem}\n"))
    }
}

fn page(metrics: &Metrics) -> Reply {
    let mut reply = text(StatusCode::OK, &metrics.to_prometheus());
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let kind = http::HeaderValue::from_static(kind);
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

fn text(status: StatusCode, body: &str) -> Reply {
    let mut reply = Response::new(Full::from(body.to_owned()));
    *reply.status_mut() = status;
    let kind = http::HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}
