//! Indexes whose entries name other charts than their archives contain.

use outrigger_repository::Error;

use crate::charts::{IndexEntry, archive, fetcher, index, request, sha256};
use crate::server::{Reply, Server};

/// A repository whose entries `db` and `web` 2.0.0 have the archive of `web` 1.0.0.
async fn lying_repository(with_digest: bool) -> Server {
    Server::start(move |request, _| match request.path.as_str() {
        "/index.yaml" => {
            let web = |name, version| IndexEntry {
                name,
                version,
                url: "web-1.0.0.tgz".to_owned(),
                digest: with_digest.then(|| sha256(&archive("web", "1.0.0"))),
            };
            Reply::ok(index(&[
                web("web", "1.0.0"),
                web("db", "1.0.0"),
                web("web", "2.0.0"),
            ]))
        }
        _ => Reply::ok(archive("web", "1.0.0")),
    })
    .await
}

#[tokio::test]
async fn an_archive_with_another_chart_than_its_entry_is_refused() {
    for with_digest in [true, false] {
        let server = lying_repository(with_digest).await;
        let fetcher = fetcher(None);
        // Also if the archive is in memory already.
        fetcher
            .fetch(&request(&server.url, "web", "1.0.0"))
            .await
            .unwrap();
        for (chart, version) in [("db", ""), ("web", "2.0.0")] {
            let error = fetcher.fetch(&request(&server.url, chart, version)).await;
            let error = error.unwrap_err();
            assert!(matches!(error, Error::WrongChart { .. }), "{error:?}");
            assert!(error.to_string().contains("contains web 1.0.0"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_local_index_is_checked_too() {
    let directory = tempfile::tempdir().unwrap();
    let entry = IndexEntry {
        name: "db",
        version: "1.0.0",
        url: "web-1.0.0.tgz".to_owned(),
        digest: None,
    };
    fs_err::write(directory.path().join("index.yaml"), index(&[entry])).unwrap();
    fs_err::write(
        directory.path().join("web-1.0.0.tgz"),
        archive("web", "1.0.0"),
    )
    .unwrap();
    let repo = format!("file://{}", directory.path().display());
    let error = fetcher(None)
        .fetch(&request(&repo, "db", ""))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::WrongChart { .. }), "{error:?}");
}
