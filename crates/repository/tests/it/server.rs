//! An HTTP server with scripted replies that records its requests.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) if_none_match: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The connection is closed after this number of bytes
    pub(crate) close_after: Option<usize>,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(crate) fn redirect(to: impl Into<String>) -> Self {
        Self::status(302).with("location", to)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Handler = Arc<dyn Fn(&RecordedRequest, usize) -> Reply + Send + Sync>;

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// `handler` gets the request and the number of earlier requests for the same path.
    pub(crate) async fn start(
        handler: impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(handler, None).await
    }

    pub(crate) async fn start_with(
        handler: impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = match tls {
            Some(_) => format!("https://localhost:{port}"),
            None => format!("http://127.0.0.1:{port}"),
        };
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (handler, log, tls) = (Arc::clone(&handler), Arc::clone(&log), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(TokioIo::new(stream), handler, log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(TokioIo::new(stream), handler, log).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            url,
            requests,
            task,
        }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        let requests = self.requests().into_iter();
        requests.map(|request| request.path).collect()
    }
}

async fn serve<S>(stream: S, handler: Handler, log: Arc<Mutex<Vec<RecordedRequest>>>)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let reply = reply(&request, &handler, &log);
        async move { Ok::<_, Infallible>(reply) }
    });
    // Clients may close the connection at any time.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(stream, service)
        .await;
}

fn reply(
    request: &Request<Incoming>,
    handler: &Handler,
    log: &Mutex<Vec<RecordedRequest>>,
) -> Response<ReplyBody> {
    let header = |name: &str| {
        let value = request.headers().get(name)?;
        Some(value.to_str().ok()?.to_owned())
    };
    let recorded = RecordedRequest {
        path: request.uri().to_string(),
        authorization: header("authorization"),
        if_none_match: header("if-none-match"),
    };
    let mut log = log.lock().unwrap();
    let earlier = log
        .iter()
        .filter(|other| other.path == recorded.path)
        .count();
    log.push(recorded.clone());
    drop(log);
    let reply = handler(&recorded, earlier);
    let mut response = Response::new(ReplyBody {
        length: reply.body.len() as u64,
        rest: Some(match reply.close_after {
            Some(length) => Bytes::copy_from_slice(&reply.body[..length]),
            None => Bytes::from(reply.body),
        }),
        is_truncated: reply.close_after.is_some(),
    });
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// A body that announces its full length and may be truncated.
struct ReplyBody {
    length: u64,
    rest: Option<Bytes>,
    is_truncated: bool,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(match self.rest.take() {
            Some(bytes) if !bytes.is_empty() => Some(Ok(Frame::data(bytes))),
            _ if self.is_truncated => Some(Err(std::io::ErrorKind::ConnectionAborted.into())),
            _ => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
