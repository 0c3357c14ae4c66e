//! Servers that lie, break off, send us elsewhere, or take their time.

use outrigger_repository::{
    Access, Credentials, Error, Fetcher, Options, Request, Secret, Transport,
};

use crate::charts::{Line, archive, fetcher, index, options, request, sha256};
use crate::server::{Reply, Server};

fn secretly(url: &str) -> Request {
    Request {
        access: Access {
            credentials: Some(Credentials::Bearer(Secret::new("hunter2"))),
            ..Access::default()
        },
        ..request(url, "web", "")
    }
}

/// Why a chart is not taken from there.
async fn refused(url: &str) -> Error {
    let fetched = fetcher(None).fetch(&request(url, "web", "")).await;
    fetched.unwrap_err()
}

#[tokio::test]
async fn an_archive_that_is_not_what_the_index_says_is_refused_with_both_digests() {
    let server = Server::start(|seen, _| match seen.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "6.6.6")),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let fetcher = fetcher(Some(folder.path()));
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
    // A lie is not believed the second time either: nothing of it was kept.
    let kept = folder
        .path()
        .join("sha256")
        .join(sha256(&archive("web", "6.6.6")));
    assert!(!kept.exists());
}

#[tokio::test]
async fn a_server_that_fails_twice_and_then_answers_is_asked_three_times() {
    let server = Server::start(|seen, before| match (seen.path.as_str(), before) {
        ("/index.yaml", 0) => Reply::status(500),
        ("/index.yaml", 1) => Reply::status(503).with("retry-after", "0"),
        ("/index.yaml", _) => Reply::ok(index(&[Line::of("web", "1.2.0")])),
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
async fn a_server_that_only_fails_is_given_up_and_a_missing_page_is_not_asked_for_again() {
    let server = Server::start(|_, _| Reply::status(502)).await;
    let error = refused(&server.url).await;
    assert!(
        matches!(
            error,
            Error::Unreachable {
                source: Transport::Server { status: 502 },
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(server.paths().len(), 3);
    let server = Server::start(|_, _| Reply::status(404)).await;
    let error = refused(&server.url).await;
    assert!(
        matches!(error, Error::Status { status: 404, .. }),
        "{error:?}"
    );
    assert_eq!(server.paths().len(), 1);
}

#[tokio::test]
async fn a_connection_that_is_cut_is_tried_again_and_half_an_archive_is_never_used() {
    let server = Server::start(|seen, before| match seen.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])),
        _ => Reply {
            cut: (before == 0).then_some(20),
            ..Reply::ok(archive("web", "1.2.0"))
        },
    })
    .await;
    fetcher(None)
        .fetch(&request(&server.url, "web", ""))
        .await
        .unwrap();
    let always = Server::start(|_, _| Reply {
        cut: Some(10),
        ..Reply::ok(index(&[Line::of("web", "1.2.0")]))
    })
    .await;
    let error = refused(&always.url).await;
    assert!(
        matches!(
            error,
            Error::Unreachable {
                source: Transport::Cut { .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn credentials_stay_with_their_server_through_redirects_and_absolute_urls() {
    let elsewhere = Server::start(|_, _| Reply::ok(archive("web", "1.2.0"))).await;
    let (redirected, absolute) = (elsewhere.url.clone(), elsewhere.url.clone());
    let by_redirect = Server::start(move |seen, _| match seen.path.as_str() {
        "/index.yaml" => Reply::redirect("/moved/index.yaml"),
        "/moved/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])),
        _ => Reply::redirect(format!("{redirected}/web.tgz?signature=abc")),
    })
    .await;
    fetcher(None)
        .fetch(&secretly(&by_redirect.url))
        .await
        .unwrap();
    let by_url = Server::start(move |_, _| {
        let line = Line {
            url: format!("{absolute}/web-1.2.0.tgz"),
            ..Line::of("web", "1.2.0")
        };
        Reply::ok(index(&[line]))
    })
    .await;
    fetcher(None).fetch(&secretly(&by_url.url)).await.unwrap();
    let told = |server: &Server| {
        server
            .seen()
            .iter()
            .filter(|seen| seen.authorization.is_some())
            .count()
    };
    assert_eq!(told(&by_redirect), 3, "{:?}", by_redirect.seen());
    assert_eq!(told(&by_url), 1);
    assert_eq!((elsewhere.seen().len(), told(&elsewhere)), (2, 0));
}

#[tokio::test]
async fn redirects_without_end_and_to_nowhere_are_refused() {
    let round = Server::start(|_, _| Reply::redirect("/index.yaml")).await;
    let error = refused(&round.url).await;
    assert!(
        error.to_string().ends_with("redirects more than 10 times"),
        "{error}"
    );
    let nowhere = Server::start(|_, _| Reply::redirect("file:///etc/passwd")).await;
    let error = refused(&nowhere.url).await;
    assert!(matches!(error, Error::Redirect { .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_too_large_is_not_taken() {
    let server = Server::start(|_, _| Reply::ok(vec![b' '; 4096])).await;
    let small = Fetcher::new(Options {
        max_index: 1024,
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
async fn a_page_that_is_no_index_and_an_archive_that_is_no_chart_are_told() {
    let server = Server::start(|_, _| Reply::ok("<html>\n<body class=\"x\">\n: : :\n")).await;
    let error = refused(&server.url).await;
    assert!(matches!(error, Error::BadIndex { .. }), "{error:?}");
    let server = Server::start(|_, _| Reply::ok("no archive")).await;
    let error = refused(&format!("{}/a.tgz", server.url)).await;
    assert!(matches!(error, Error::BadChart { .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_secrets_in_queries_are_not_told() {
    let url = {
        let server = Server::start(|_, _| Reply::status(404)).await;
        server.url.clone()
    };
    let error = refused(&format!("{url}/x?token=hunter2")).await;
    assert!(error.is_transient(), "{error:?}");
    assert!(
        !format!("{error} {error:?}").contains("hunter2"),
        "{error:?}"
    );
}
