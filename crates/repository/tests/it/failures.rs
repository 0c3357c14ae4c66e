//! Servers that fail, close connections, redirect, or send invalid files.

use std::time::Duration;

use outrigger_repository::{
    Access, Credentials, Error, Fetcher, Options, Request, RequestError, Secret, TransportError,
};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::charts::{IndexEntry, archive, fetcher, index, options, request, sha256};
use crate::server::{Reply, Server};

fn authorized(url: &str) -> Request {
    Request {
        access: Access {
            credentials: Some(Credentials::Bearer(Secret::new("hunter2"))),
            ..Access::default()
        },
        ..request(url, "web", "")
    }
}

async fn fetch_error(url: &str) -> Error {
    let fetched = fetcher(None).fetch(&request(url, "web", "")).await;
    fetched.unwrap_err()
}

#[tokio::test]
async fn rejects_an_archive_whose_digest_is_not_that_of_the_index() {
    let server = Server::start(|request, _| match request.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "6.6.6")),
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let fetcher = fetcher(Some(directory.path()));
    for _ in 0..2 {
        let error = fetcher
            .fetch(&request(&server.url, "web", ""))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::DigestMismatch { .. }), "{error:?}");
        assert!(text.contains(&sha256(&archive("web", "1.2.0"))), "{text}");
        assert!(text.contains(&sha256(&archive("web", "6.6.6"))), "{text}");
    }
    // The archive is not cached.
    let cached = directory
        .path()
        .join("sha256")
        .join(sha256(&archive("web", "6.6.6")));
    assert!(!cached.exists());
}

#[tokio::test]
async fn retries_transient_failures() {
    let server = Server::start(|request, earlier| match (request.path.as_str(), earlier) {
        ("/index.yaml", 0) => Reply::status(500),
        ("/index.yaml", 1) => Reply::status(503).with("retry-after", "0"),
        ("/index.yaml", _) => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "1.2.0")),
    })
    .await;
    fetcher(None)
        .fetch(&request(&server.url, "web", ""))
        .await
        .unwrap();
    assert_eq!(server.paths().len(), 4);
}

#[tokio::test]
async fn gives_up_after_the_last_attempt_and_does_not_retry_not_found() {
    let server = Server::start(|_, _| Reply::status(502)).await;
    let error = fetch_error(&server.url).await;
    assert!(
        matches!(
            error,
            Error::Request(RequestError::Unreachable {
                source: TransportError::Server { status: 502 },
                ..
            })
        ),
        "{error:?}"
    );
    assert_eq!(server.paths().len(), 3);
    let server = Server::start(|_, _| Reply::status(404)).await;
    let error = fetch_error(&server.url).await;
    assert!(
        matches!(error, Error::UnexpectedStatus { status: 404, .. }),
        "{error:?}"
    );
    assert_eq!(server.paths().len(), 1);
}

#[tokio::test]
async fn retries_a_closed_connection_and_never_uses_a_partial_archive() {
    let server = Server::start(|request, earlier| match request.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
        _ => Reply {
            close_after: (earlier == 0).then_some(20),
            ..Reply::ok(archive("web", "1.2.0"))
        },
    })
    .await;
    fetcher(None)
        .fetch(&request(&server.url, "web", ""))
        .await
        .unwrap();
    let unreliable = Server::start(|_, _| Reply {
        close_after: Some(10),
        ..Reply::ok(index(&[IndexEntry::of("web", "1.2.0")]))
    })
    .await;
    let error = fetch_error(&unreliable.url).await;
    assert!(
        matches!(
            error,
            Error::Request(RequestError::Unreachable {
                source: TransportError::ConnectionClosed { .. },
                ..
            })
        ),
        "{error:?}"
    );
}

/// A part of an index may parse, and a part of an archive without a digest may unpack.
#[tokio::test]
async fn a_part_is_not_taken_for_the_whole() {
    let undigested = |version| IndexEntry {
        digest: None,
        ..IndexEntry::of("web", version)
    };
    let part = |body: Vec<u8>| Reply {
        status: 206,
        ..Reply::ok(body).with("content-range", "bytes 0-99/100000")
    };
    for part_of in ["/index.yaml", "/web-1.2.0.tgz"] {
        let server = Server::start(move |request, _| {
            let body = match request.path.as_str() {
                "/index.yaml" => index(&[undigested("1.2.0")]).into_bytes(),
                _ => archive("web", "1.2.0"),
            };
            if request.path == part_of {
                part(body)
            } else {
                Reply::ok(body)
            }
        })
        .await;
        let error = fetch_error(&server.url).await;
        assert!(
            matches!(&error, Error::UnexpectedStatus { status: 206, url } if url.ends_with(part_of)),
            "{part_of}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_registry_whose_list_of_tags_never_ends_is_refused() {
    let server = Server::start(|request, _| {
        let page = request
            .path
            .rsplit_once("page=")
            .map_or("0", |(_, page)| page);
        let page: u64 = page.parse().unwrap();
        let next = format!("</v2/charts/web/tags/list?page={}>; rel=\"next\"", page + 1);
        let tags = format!(r#"{{"name": "charts/web", "tags": ["0.0.{page}"]}}"#);
        Reply::ok(tags).with("link", next)
    })
    .await;
    let registry = server.url.trim_start_matches("http://");
    let fetcher = Fetcher::new(Options {
        plain_http: [registry.to_owned()].into(),
        ..options(None)
    });
    let repo = format!("oci://{registry}/charts");
    let fetched = fetcher.fetch(&request(&repo, "web", "^1")).await;
    let error = fetched.unwrap_err();
    let Error::Oci { source, .. } = &error else {
        panic!("{error:?}");
    };
    let text = source.to_string();
    assert!(
        text.ends_with("the list has more than 2500 pages"),
        "{text}"
    );
    assert_eq!(server.paths().len(), 2501);
}

#[tokio::test]
async fn sends_credentials_only_to_the_origin_of_the_repository() {
    let other = Server::start(|_, _| Reply::ok(archive("web", "1.2.0"))).await;
    let (redirected, absolute) = (other.url.clone(), other.url.clone());
    let by_redirect = Server::start(move |request, _| match request.path.as_str() {
        "/index.yaml" => Reply::redirect("/moved/index.yaml"),
        "/moved/index.yaml" => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
        _ => Reply::redirect(format!("{redirected}/web.tgz?signature=abc")),
    })
    .await;
    fetcher(None)
        .fetch(&authorized(&by_redirect.url))
        .await
        .unwrap();
    let by_url = Server::start(move |_, _| {
        let entry = IndexEntry {
            url: format!("{absolute}/web-1.2.0.tgz"),
            ..IndexEntry::of("web", "1.2.0")
        };
        Reply::ok(index(&[entry]))
    })
    .await;
    fetcher(None).fetch(&authorized(&by_url.url)).await.unwrap();
    let authorized = |server: &Server| {
        server
            .requests()
            .iter()
            .filter(|request| request.authorization.is_some())
            .count()
    };
    assert_eq!(authorized(&by_redirect), 3, "{:?}", by_redirect.requests());
    assert_eq!(authorized(&by_url), 1);
    assert_eq!((other.requests().len(), authorized(&other)), (2, 0));
}

#[tokio::test]
async fn rejects_endless_redirects_and_other_schemes() {
    let endless = Server::start(|_, _| Reply::redirect("/index.yaml")).await;
    let error = fetch_error(&endless.url).await;
    assert!(
        error.to_string().ends_with("redirects more than 10 times"),
        "{error}"
    );
    let local = Server::start(|_, _| Reply::redirect("file:///etc/passwd")).await;
    let error = fetch_error(&local.url).await;
    assert!(matches!(error, Error::Redirect(_)), "{error:?}");
}

#[tokio::test]
async fn rejects_a_response_over_the_size_limit() {
    let server = Server::start(|_, _| Reply::ok(vec![b' '; 4096])).await;
    let small = Fetcher::new(Options {
        max_index_bytes: 1024,
        ..options(None)
    });
    let error = small
        .fetch(&request(&server.url, "web", ""))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::TooLarge { limit: 1024, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn rejects_an_invalid_index_and_an_invalid_archive() {
    let server = Server::start(|_, _| Reply::ok("<html>\n<body class=\"x\">\n: : :\n")).await;
    let error = fetch_error(&server.url).await;
    assert!(matches!(error, Error::InvalidIndex { .. }), "{error:?}");
    let server = Server::start(|_, _| Reply::ok("no archive")).await;
    let error = fetch_error(&format!("{}/a.tgz", server.url)).await;
    assert!(matches!(error, Error::InvalidChart { .. }), "{error:?}");
}

#[tokio::test]
async fn a_refused_connection_is_transient_and_errors_omit_queries() {
    let url = {
        let server = Server::start(|_, _| Reply::status(404)).await;
        server.url.clone()
    };
    let error = fetch_error(&format!("{url}/x?token=hunter2")).await;
    assert!(error.is_transient(), "{error:?}");
    assert!(
        !format!("{error} {error:?}").contains("hunter2"),
        "{error:?}"
    );
}

/// Each byte is in time, but the file would take for ever.
#[tokio::test]
async fn a_repository_that_sends_byte_by_byte_is_asked_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (connected, mut connections) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            connected.send(()).unwrap();
            tokio::spawn(async move {
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
                // A response before the request would be refused.
                stream.read_u8().await.unwrap();
                let mut sent = stream.write_all(head).await;
                while sent.is_ok() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    sent = stream.write_all(b"#").await;
                }
            });
        }
    });
    let options = Options {
        timeout: Duration::from_millis(200),
        ..options(None)
    };
    let fetched = Fetcher::new(options).fetch(&request(&url, "web", "")).await;
    fetched.unwrap_err();
    connections.recv().await.unwrap();
    assert!(connections.try_recv().is_err(), "it was asked again");
}
