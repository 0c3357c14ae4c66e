//! A well-behaved repository: versions, credentials, the cache and conditional requests.

use outrigger_repository::{
    Access, Credentials, Error, Fetcher, Options, Request, RequestError, Secret,
};

use crate::charts::{
    IndexEntry, archive, chart_yaml, fetcher, index, options, pack, request, sha256,
};
use crate::server::{Reply, Server};

async fn repository() -> Server {
    Server::start(|request, _| match request.path.as_str() {
        "/index.yaml" => {
            let entries = [
                IndexEntry::of("web", "1.2.0"),
                IndexEntry::of("web", "1.10.0"),
                IndexEntry::of("web", "2.0.0-rc.1"),
                IndexEntry::of("db", "0.1.0"),
            ];
            Reply::ok(index(&entries))
        }
        "/web-1.2.0.tgz" => Reply::ok(archive("web", "1.2.0")),
        "/web-1.10.0.tgz" => Reply::ok(archive("web", "1.10.0")),
        "/web-2.0.0-rc.1.tgz" => Reply::ok(archive("web", "2.0.0-rc.1")),
        _ => Reply::status(404),
    })
    .await
}

#[tokio::test]
async fn fetches_the_selected_version_and_its_digest() {
    let server = repository().await;
    let fetcher = fetcher(None);
    for (version, expected) in [
        ("", "1.10.0"),
        ("1.2.0", "1.2.0"),
        ("~1.2", "1.2.0"),
        (">=1.0.0-0", "2.0.0-rc.1"),
    ] {
        let fetched = fetcher
            .fetch(&request(&server.url, "web", version))
            .await
            .unwrap();
        assert_eq!(fetched.version, expected, "{version}");
        assert_eq!(fetched.digest, sha256(&archive("web", expected)));
        assert_eq!(fetched.chart.name(), "web");
        assert!(!fetched.offline);
    }
}

#[tokio::test]
async fn a_missing_chart_or_version_is_reported_with_suggestions() {
    let server = repository().await;
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
    // The chart is in the index, but its archive is missing.
    let error = fetcher
        .fetch(&request(&server.url, "db", ""))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::UnexpectedStatus { status: 404, .. }),
        "{error:?}"
    );
    let error = fetcher
        .fetch(&request(&server.url, "web", "one"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidRange { .. }), "{error:?}");
}

#[tokio::test]
async fn downloads_an_archive_once_and_an_index_only_if_it_changed() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(|request, _| match request.path.as_str() {
        "/index.yaml" if request.if_none_match.as_deref() == Some("\"one\"") => Reply::status(304),
        "/index.yaml" => {
            Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])).with("etag", "\"one\"")
        }
        _ => Reply::ok(archive("web", "1.2.0")),
    })
    .await;
    for _ in 0..2 {
        // A new fetcher each time, as after a restart.
        let fetcher = fetcher(Some(directory.path()));
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
    let conditional: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.if_none_match.is_some())
        .collect();
    assert_eq!(conditional, [false, false, true, true, true]);
}

#[tokio::test]
async fn concurrent_requests_share_one_index_until_its_ttl() {
    let server = repository().await;
    let options = Options {
        index_ttl: std::time::Duration::from_hours(1),
        ..options(None)
    };
    let fetcher = Fetcher::new(options);
    let request = request(&server.url, "web", "1.2.0");
    let (one, two, three) = tokio::join!(
        fetcher.fetch(&request),
        fetcher.fetch(&request),
        fetcher.fetch(&request)
    );
    let digests: Vec<_> = [one, two, three]
        .map(|fetched| fetched.unwrap().digest)
        .to_vec();
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let index_requests = |server: &Server| {
        server
            .paths()
            .iter()
            .filter(|path| *path == "/index.yaml")
            .count()
    };
    assert_eq!(index_requests(&server), 1);
    fetcher.refresh();
    fetcher.fetch(&request).await.unwrap();
    assert_eq!(index_requests(&server), 2);
}

#[tokio::test]
async fn uses_the_cache_if_the_server_is_unreachable() {
    let directory = tempfile::tempdir().unwrap();
    let server = repository().await;
    let url = server.url.clone();
    fetcher(Some(directory.path()))
        .fetch(&request(&url, "web", "1.2.0"))
        .await
        .unwrap();
    drop(server);
    let fetcher = fetcher(Some(directory.path()));
    let fetched = fetcher.fetch(&request(&url, "web", "1.2.0")).await.unwrap();
    assert!(fetched.offline);
    let error = fetcher
        .fetch(&request(&url, "web", "1.10.0"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Request(RequestError::Unreachable { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn replaces_corrupt_files_in_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let server = repository().await;
    let request = request(&server.url, "web", "1.2.0");
    fetcher(Some(directory.path()))
        .fetch(&request)
        .await
        .unwrap();
    for entry in fs_err::read_dir(directory.path().join("sha256")).unwrap() {
        fs_err::write(entry.unwrap().path(), b"corrupt").unwrap();
    }
    let fetched = fetcher(Some(directory.path()))
        .fetch(&request)
        .await
        .unwrap();
    assert_eq!(fetched.digest, sha256(&archive("web", "1.2.0")));
    let path = directory.path().join("sha256").join(&fetched.digest);
    assert_eq!(sha256(&fs_err::read(path).unwrap()), fetched.digest);
}

/// A repository that requires this authorization header.
async fn protected(header: &'static str) -> Server {
    Server::start(move |request, _| match request.path.as_str() {
        _ if request.authorization.as_deref() != Some(header) => Reply::status(401),
        "/index.yaml" => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
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
async fn sends_credentials() {
    let basic = protected("Basic YW5uOmh1bnRlcjI=").await;
    let fetcher = fetcher(None);
    let credentials = Credentials::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter2"),
    };
    fetcher.fetch(&with(credentials, &basic.url)).await.unwrap();
    let bearer = protected("Bearer hunter2").await;
    let token = |token| Credentials::Bearer(Secret::new(token));
    fetcher
        .fetch(&with(token("hunter2"), &bearer.url))
        .await
        .unwrap();
    for (unauthorized, expected) in [
        (
            with(token("hunter3"), &bearer.url),
            "rejected the credentials (status 401)",
        ),
        (
            request(&bearer.url, "web", ""),
            "requires credentials (status 401)",
        ),
    ] {
        let error = fetcher.fetch(&unauthorized).await.unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error:?}");
        assert!(
            !format!("{error} {error:?}").contains("hunter"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn two_registries_may_have_the_same_credentials() {
    let registry = async || {
        Server::start(|request, _| match &request.authorization {
            None => Reply::status(401).with("www-authenticate", "Basic realm=\"r\"".to_owned()),
            Some(_) => Reply::ok(r#"{"name": "charts/web", "tags": []}"#.to_owned()),
        })
        .await
    };
    let registries = [registry().await, registry().await];
    let hosts = registries
        .each_ref()
        .map(|server| server.url.trim_start_matches("http://").to_owned());
    let fetcher = Fetcher::new(Options {
        plain_http: hosts.iter().cloned().collect(),
        ..options(None)
    });
    let credentials = Credentials::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter2"),
    };
    for host in hosts {
        let request = with(credentials.clone(), &format!("oci://{host}/charts"));
        let error = fetcher.fetch(&request).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn docker_s_credentials_are_for_servers_that_require_some() {
    let directory = tempfile::tempdir().unwrap();
    let server = protected("Basic YW5uOmh1bnRlcjI=").await;
    let host = outrigger_repository::server_of(&server.url).unwrap();
    let config = directory.path().join("config.json");
    let auths =
        |host: &str| format!(r#"{{"auths": {{"{host}": {{"auth": "YW5uOmh1bnRlcjI="}}}}}}"#);
    let fetcher_with = |text: String| {
        fs_err::write(&config, text).unwrap();
        Fetcher::new(Options {
            docker: outrigger_oci::DockerConfig::read(&config).unwrap(),
            ..options(None)
        })
    };
    let request = request(&server.url, "web", "");
    let fetcher = fetcher_with(auths(&host));
    // Concurrent requests are rejected at the same time, and each is repeated.
    let (first, second) = tokio::join!(fetcher.fetch(&request), fetcher.archive(&request));
    first.unwrap();
    second.unwrap();
    for other in ["other.local", "127.0.0.1"] {
        let error = fetcher_with(auths(other))
            .fetch(&request)
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::CredentialsRequired { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn the_cache_is_not_shared_between_credentials() {
    let directory = tempfile::tempdir().unwrap();
    let server = protected("Bearer hunter2").await;
    let authorized = with(Credentials::Bearer(Secret::new("hunter2")), &server.url);
    let anonymous = request(&server.url, "web", "");
    fetcher(Some(directory.path()))
        .fetch(&authorized)
        .await
        .unwrap();
    drop(server);
    let fetcher = fetcher(Some(directory.path()));
    assert!(fetcher.fetch(&authorized).await.unwrap().offline);
    let error = fetcher.fetch(&anonymous).await.unwrap_err();
    assert!(
        matches!(error, Error::Request(RequestError::Unreachable { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn fetches_a_chart_from_a_path_inside_an_archive() {
    let chart = chart_yaml("deep", "0.3.0");
    let archive = pack(
        "repo-main",
        &[("README.md", "x"), ("deploy/chart/Chart.yaml", &chart)],
    );
    let server = Server::start(move |_, _| Reply::ok(archive.clone())).await;
    let mut request = request(&format!("{}/main.tar.gz", server.url), "any", "");
    request.path = Some("deploy/chart".to_owned());
    let fetcher = fetcher(None);
    assert_eq!(fetcher.fetch(&request).await.unwrap().version, "0.3.0");
    request.path = Some("repo-main/deploy/chart".to_owned());
    assert_eq!(fetcher.fetch(&request).await.unwrap().version, "0.3.0");
    request.version = Some("^1".to_owned());
    let error = fetcher.fetch(&request).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    request.path = Some("elsewhere".to_owned());
    let error = fetcher.fetch(&request).await.unwrap_err();
    assert!(matches!(error, Error::PathNotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn returns_the_index_of_a_repository() {
    let server = repository().await;
    let (index, digest) = fetcher(None)
        .index(&server.url, &Access::default())
        .await
        .unwrap();
    assert_eq!(index.charts.keys().collect::<Vec<_>>(), ["db", "web"]);
    assert_eq!(digest.len(), 64);
}

#[tokio::test]
async fn rejects_unresolved_names() {
    let fetcher = fetcher(None);
    let error = fetcher
        .fetch(&request("stable", "web", ""))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::UnresolvedName { .. }), "{error:?}");
}
