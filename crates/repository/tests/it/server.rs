//! A web server that says what a test wants it to say, and remembers who asked for what.

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

/// What somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) if_none_match: Option<String>,
}

/// What they get.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The connection is cut after so many bytes
    pub(crate) cut: Option<usize>,
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

type Answer = Arc<dyn Fn(&Seen, usize) -> Reply + Send + Sync>;

pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// `answer` gets what is asked for and how often that was asked for before.
    pub(crate) async fn start(
        answer: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(answer, None).await
    }

    pub(crate) async fn start_with(
        answer: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = match tls {
            Some(_) => format!("https://localhost:{port}"),
            None => format!("http://127.0.0.1:{port}"),
        };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answer: Answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log, tls) = (Arc::clone(&answer), Arc::clone(&log), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => talk(TokioIo::new(stream), answer, log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                talk(TokioIo::new(stream), answer, log).await;
                            }
                        }
                    }
                });
            }
        });
        Self { url, seen, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }
}

async fn talk<S>(stream: S, answer: Answer, log: Arc<Mutex<Vec<Seen>>>)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let reply = reply(&request, &answer, &log);
        async move { Ok::<_, Infallible>(reply) }
    });
    // A client that goes away ends the conversation, and that is that.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(stream, service)
        .await;
}

fn reply(
    request: &Request<Incoming>,
    answer: &Answer,
    log: &Mutex<Vec<Seen>>,
) -> Response<Scripted> {
    let header = |name: &str| {
        let value = request.headers().get(name)?;
        Some(value.to_str().ok()?.to_owned())
    };
    let seen = Seen {
        path: request.uri().to_string(),
        authorization: header("authorization"),
        if_none_match: header("if-none-match"),
    };
    let mut log = log.lock().unwrap();
    let before = log.iter().filter(|other| other.path == seen.path).count();
    log.push(seen.clone());
    drop(log);
    let reply = answer(&seen, before);
    let mut response = Response::new(Scripted {
        length: reply.body.len() as u64,
        rest: Some(match reply.cut {
            Some(at) => Bytes::copy_from_slice(&reply.body[..at]),
            None => Bytes::from(reply.body),
        }),
        cut: reply.cut.is_some(),
    });
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

/// A body that promises its whole length and may break off.
struct Scripted {
    length: u64,
    rest: Option<Bytes>,
    cut: bool,
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(match self.rest.take() {
            Some(bytes) if !bytes.is_empty() => Some(Ok(Frame::data(bytes))),
            _ if self.cut => Some(Err(std::io::ErrorKind::ConnectionAborted.into())),
            _ => None,
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
