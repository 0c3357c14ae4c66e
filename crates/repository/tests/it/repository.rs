//! An honest repository: versions, credentials, the cache and conditional requests.

use outrigger_repository::{Access, Credentials, Error, Request, Secret};

use crate::charts::{Line, archive, chart_yaml, fetcher, index, options, pack, request, sha256};
use crate::server::{Reply, Server};

async fn shop() -> Server {
    Server::start(|seen, _| match seen.path.as_str() {
        "/index.yaml" => {
            let lines = [
                Line::of("web", "1.2.0"),
                Line::of("web", "1.10.0"),
                Line::of("web", "2.0.0-rc.1"),
                Line::of("db", "0.1.0"),
            ];
            Reply::ok(index(&lines))
        }
        "/web-1.2.0.tgz" => Reply::ok(archive("web", "1.2.0")),
        "/web-1.10.0.tgz" => Reply::ok(archive("web", "1.10.0")),
        "/web-2.0.0-rc.1.tgz" => Reply::ok(archive("web", "2.0.0-rc.1")),
        _ => Reply::status(404),
    })
    .await
}

#[tokio::test]
async fn the_version_that_is_meant_is_fetched_with_its_digest() {
    let server = shop().await;
    let fetcher = fetcher(None);
    for (asked, expected) in [
        ("", "1.10.0"),
        ("1.2.0", "1.2.0"),
        ("~1.2", "1.2.0"),
        (">=1.0.0-0", "2.0.0-rc.1"),
    ] {
        let fetched = fetcher
            .fetch(&request(&server.url, "web", asked))
            .await
            .unwrap();
        assert_eq!(fetched.version, expected, "{asked}");
        assert_eq!(fetched.digest, sha256(&archive("web", expected)));
        assert_eq!(fetched.chart.name(), "web");
        assert!(!fetched.offline);
    }
}

#[tokio::test]
async fn what_is_missing_is_told_with_what_is_near() {
    let server = shop().await;
    let fetcher = fetcher(None);
    let error = fetcher
        .fetch(&request(&server.url, "web", "^3"))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::NotFound { nearest, .. } if nearest.len() == 3),
        "{error:?}"
    );
    let error = fetcher
        .fetch(&request(&server.url, "wbe", ""))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::NotFound { nearest, .. } if *nearest == ["web"]),
        "{error:?}"
    );
    // It is in the index, but its archive is not there.
    let error = fetcher
        .fetch(&request(&server.url, "db", ""))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Status { status: 404, .. }),
        "{error:?}"
    );
    let error = fetcher
        .fetch(&request(&server.url, "web", "one"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::BadRange { .. }), "{error:?}");
}

#[tokio::test]
async fn an_archive_is_fetched_once_and_an_index_only_if_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|seen, _| match seen.path.as_str() {
        "/index.yaml" if seen.if_none_match.as_deref() == Some("\"one\"") => Reply::status(304),
        "/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])).with("etag", "\"one\""),
        _ => Reply::ok(archive("web", "1.2.0")),
    })
    .await;
    for _ in 0..2 {
        // Another one each time, as after a restart.
        let fetcher = fetcher(Some(folder.path()));
        for _ in 0..2 {
            fetcher
                .fetch(&request(&server.url, "web", ""))
                .await
                .unwrap();
        }
    }
    let expected = [
        "/index.yaml",
        "/web-1.2.0.tgz",
        "/index.yaml",
        "/index.yaml",
        "/index.yaml",
    ];
    assert_eq!(server.paths(), expected);
    let asked: Vec<_> = server
        .seen()
        .into_iter()
        .map(|seen| seen.if_none_match.is_some())
        .collect();
    assert_eq!(asked, [false, false, true, true, true]);
}

#[tokio::test]
async fn an_index_that_is_young_enough_is_not_asked_for_again_by_anybody() {
    let server = shop().await;
    let options = outrigger_repository::Options {
        index_age: std::time::Duration::from_hours(1),
        ..options(None)
    };
    let fetcher = outrigger_repository::Fetcher::new(options);
    let wanted = request(&server.url, "web", "1.2.0");
    let (one, two, three) = tokio::join!(
        fetcher.fetch(&wanted),
        fetcher.fetch(&wanted),
        fetcher.fetch(&wanted)
    );
    let digests: Vec<_> = [one, two, three]
        .map(|fetched| fetched.unwrap().digest)
        .to_vec();
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let asked = |server: &Server| {
        server
            .paths()
            .iter()
            .filter(|path| *path == "/index.yaml")
            .count()
    };
    assert_eq!(asked(&server), 1);
    fetcher.refresh();
    fetcher.fetch(&wanted).await.unwrap();
    assert_eq!(asked(&server), 2);
}

#[tokio::test]
async fn charts_come_from_the_cache_when_the_server_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let server = shop().await;
    let url = server.url.clone();
    fetcher(Some(folder.path()))
        .fetch(&request(&url, "web", "1.2.0"))
        .await
        .unwrap();
    drop(server);
    let fetcher = fetcher(Some(folder.path()));
    let fetched = fetcher.fetch(&request(&url, "web", "1.2.0")).await.unwrap();
    assert!(fetched.offline);
    let error = fetcher
        .fetch(&request(&url, "web", "1.10.0"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_damaged_cache_heals() {
    let folder = tempfile::tempdir().unwrap();
    let server = shop().await;
    let wanted = request(&server.url, "web", "1.2.0");
    fetcher(Some(folder.path())).fetch(&wanted).await.unwrap();
    for entry in fs_err::read_dir(folder.path().join("sha256")).unwrap() {
        fs_err::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    let fetched = fetcher(Some(folder.path())).fetch(&wanted).await.unwrap();
    assert_eq!(fetched.digest, sha256(&archive("web", "1.2.0")));
    let path = folder.path().join("sha256").join(&fetched.digest);
    assert_eq!(sha256(&fs_err::read(path).unwrap()), fetched.digest);
}

async fn guarded(header: &'static str) -> Server {
    Server::start(move |seen, _| match seen.path.as_str() {
        _ if seen.authorization.as_deref() != Some(header) => Reply::status(401),
        "/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "1.2.0")),
    })
    .await
}

fn with(credentials: Credentials, url: &str) -> Request {
    Request {
        access: Access {
            credentials: Some(credentials),
            ..Access::default()
        },
        ..request(url, "web", "")
    }
}

#[tokio::test]
async fn credentials_open_what_is_closed_to_others() {
    let basic = guarded("Basic YW5uOmh1bnRlcjI=").await;
    let fetcher = fetcher(None);
    let credentials = Credentials::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter2"),
    };
    fetcher.fetch(&with(credentials, &basic.url)).await.unwrap();
    let bearer = guarded("Bearer hunter2").await;
    let token = |token| Credentials::Bearer(Secret::new(token));
    fetcher
        .fetch(&with(token("hunter2"), &bearer.url))
        .await
        .unwrap();
    for wrong in [
        with(token("hunter3"), &bearer.url),
        request(&bearer.url, "web", ""),
    ] {
        let error = fetcher.fetch(&wrong).await.unwrap_err();
        assert!(
            matches!(error, Error::Unauthorized { status: 401, .. }),
            "{error:?}"
        );
        assert!(
            !format!("{error} {error:?}").contains("hunter"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn what_one_fetched_with_credentials_another_does_not_get_offline() {
    let folder = tempfile::tempdir().unwrap();
    let server = guarded("Bearer hunter2").await;
    let allowed = with(Credentials::Bearer(Secret::new("hunter2")), &server.url);
    let other = request(&server.url, "web", "");
    fetcher(Some(folder.path())).fetch(&allowed).await.unwrap();
    drop(server);
    let fetcher = fetcher(Some(folder.path()));
    assert!(fetcher.fetch(&allowed).await.unwrap().offline);
    let error = fetcher.fetch(&other).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn an_archive_has_an_address_of_its_own_and_a_chart_may_lie_deeper_in_it() {
    let chart = chart_yaml("deep", "0.3.0");
    let packed = pack(
        "repo-main",
        &[("README.md", "x"), ("deploy/chart/Chart.yaml", &chart)],
    );
    let server = Server::start(move |_, _| Reply::ok(packed.clone())).await;
    let mut wanted = request(&format!("{}/main.tar.gz", server.url), "any", "");
    wanted.path = Some("deploy/chart".to_owned());
    let fetcher = fetcher(None);
    assert_eq!(fetcher.fetch(&wanted).await.unwrap().version, "0.3.0");
    wanted.version = Some("^1".to_owned());
    let error = fetcher.fetch(&wanted).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    wanted.path = Some("elsewhere".to_owned());
    let error = fetcher.fetch(&wanted).await.unwrap_err();
    assert!(matches!(error, Error::NoPath { .. }), "{error:?}");
}

#[tokio::test]
async fn the_charts_of_a_repository_can_be_listed() {
    let server = shop().await;
    let (index, digest) = fetcher(None)
        .index(&server.url, &Access::default())
        .await
        .unwrap();
    assert_eq!(index.charts.keys().collect::<Vec<_>>(), ["db", "web"]);
    assert_eq!(digest.len(), 64);
}

#[tokio::test]
async fn registries_are_refused_with_words_and_names_must_be_looked_up() {
    let fetcher = fetcher(None);
    let error = fetcher
        .fetch(&request("oci://registry.example.com/x", "web", ""))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Oci { .. }) && error.hint().is_some(),
        "{error:?}"
    );
    let error = fetcher
        .fetch(&request("stable", "web", ""))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Named { .. }), "{error:?}");
}
