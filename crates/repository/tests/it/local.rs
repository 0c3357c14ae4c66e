//! Charts on the local disk: directories, archives, directories of charts, repositories.

use std::path::Path;

use outrigger_repository::{Error, Fetcher, Options, Request};

use crate::charts::{IndexEntry, archive, chart_yaml, index, options, pack, request};

fn write(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, content).unwrap();
}

fn local(root: &Path) -> Fetcher {
    Fetcher::new(Options {
        base: root.to_owned(),
        ..options(None)
    })
}

async fn version(root: &Path, repo: &str, chart: &str, version: &str) -> Result<String, Error> {
    let fetched = local(root).fetch(&request(repo, chart, version)).await?;
    Ok(fetched.version)
}

#[tokio::test]
async fn the_index_of_a_directory_has_what_the_charts_say() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let chart = "appVersion: \"7\"\ndescription: A web server\ndeprecated: true\n";
    let chart = format!("{}{chart}", chart_yaml("web", "1.5.0"));
    write(root, "charts/web/Chart.yaml", chart);
    let (index, _) = local(root)
        .index("./charts", &outrigger_repository::Access::default())
        .await
        .unwrap();
    let entry = &index.charts["web"][0];
    assert_eq!(entry.version, "1.5.0");
    assert_eq!(entry.app_version, "7");
    assert_eq!(entry.description, "A web server");
    assert!(entry.deprecated);
}

#[tokio::test]
async fn finds_charts_in_a_directory_of_directories_and_archives() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "charts/web/Chart.yaml", chart_yaml("web", "1.5.0"));
    write(root, "charts/renamed/Chart.yaml", chart_yaml("db", "0.2.0"));
    write(root, "charts/web-1.2.0.tgz", archive("web", "1.2.0"));
    write(
        root,
        "charts/web-extra-9.0.0.tgz",
        archive("web-extra", "9.0.0"),
    );
    write(root, "charts/notes.txt", "x");
    assert_eq!(
        version(root, "file://./charts", "web", "").await.unwrap(),
        "1.5.0"
    );
    assert_eq!(
        version(root, "file://charts", "web", "~1.2").await.unwrap(),
        "1.2.0"
    );
    assert_eq!(version(root, "./charts", "db", "").await.unwrap(), "0.2.0");
    let error = version(root, "./charts", "web", "^2")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("of version \"^2\"; nearest: 1.5.0, 1.2.0"),
        "{error}"
    );
    let error = version(root, "./charts", "wep", "").await.unwrap_err();
    assert!(
        matches!(&error, Error::NotFound { nearest, .. } if *nearest == ["web"]),
        "{error:?}"
    );
}

#[tokio::test]
async fn ignores_the_name_for_a_single_chart() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "web/Chart.yaml", chart_yaml("web", "1.5.0"));
    write(root, "web.tgz", archive("web", "1.2.0"));
    let root_path = root.display();
    assert_eq!(
        version(root, "file://web", "any", "").await.unwrap(),
        "1.5.0"
    );
    assert_eq!(
        version(root, &format!("file://{root_path}/web.tgz"), "any", "")
            .await
            .unwrap(),
        "1.2.0"
    );
    let error = version(root, "file://web", "any", "^2").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    let error = version(root, "file://nowhere", "any", "")
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
}

#[tokio::test]
async fn verifies_digests_of_a_local_repository() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let published = IndexEntry {
        url: "https://charts.example.com/x/web-1.2.0.tgz".to_owned(),
        ..IndexEntry::of("web", "1.2.0")
    };
    write(root, "repo/index.yaml", index(&[published]));
    write(root, "repo/web-1.2.0.tgz", archive("web", "1.2.0"));
    assert_eq!(version(root, "./repo", "web", "").await.unwrap(), "1.2.0");
    write(root, "repo/web-1.2.0.tgz", archive("web", "6.6.6"));
    let error = version(root, "./repo", "web", "").await.unwrap_err();
    assert!(matches!(error, Error::DigestMismatch { .. }), "{error:?}");
}

#[tokio::test]
async fn the_digest_of_a_directory_depends_on_its_files_only() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "web/Chart.yaml", chart_yaml("web", "1.0.0"));
    write(root, "web/templates/a.yaml", "a: 1");
    let fetcher = local(root);
    let request = request("file://web", "web", "");
    let first = fetcher.fetch(&request).await.unwrap();
    let second = fetcher.fetch(&request).await.unwrap();
    assert_eq!(first.digest, second.digest);
    assert!(std::sync::Arc::ptr_eq(&first.chart, &second.chart));
    write(root, "web/templates/a.yaml", "a: 2");
    let changed = fetcher.fetch(&request).await.unwrap();
    assert_ne!(first.digest, changed.digest);
    assert_eq!(changed.chart.templates[0].data.as_slice(), b"a: 2");
}

#[tokio::test]
async fn rejects_a_path_outside_the_source() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(
        root,
        "source/deploy/web/Chart.yaml",
        chart_yaml("web", "1.0.0"),
    );
    write(root, "secret/Chart.yaml", chart_yaml("secret", "1.0.0"));
    let at = |path: &str| Request {
        path: Some(path.to_owned()),
        ..request("./source", "web", "")
    };
    let fetcher = local(root);
    assert_eq!(
        fetcher.fetch(&at("deploy/web")).await.unwrap().version,
        "1.0.0"
    );
    for outside in ["../secret", "/etc", "deploy/nowhere"] {
        let error = fetcher.fetch(&at(outside)).await.unwrap_err();
        assert!(
            matches!(error, Error::PathNotFound { .. }),
            "{outside}: {error:?}"
        );
    }
}

#[tokio::test]
async fn fetches_manifests_of_directories_archives_and_files_sorted_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "m/b.yaml", "b: 1");
    write(root, "m/a/c.yml", "c: 1");
    write(root, "m/readme.md", "x");
    let archive = pack(
        "m",
        &[("b.yaml", "b: 1"), ("a/c.yml", "c: 1"), ("readme.md", "x")],
    );
    write(root, "m.tgz", &archive);
    let fetcher = local(root);
    let names = |repo: &'static str| {
        let fetcher = fetcher.clone();
        async move {
            let manifests = fetcher
                .fetch_manifests(&request(repo, "", ""))
                .await
                .unwrap();
            let names = manifests.files.iter().map(|file| file.name.clone());
            (names.collect::<Vec<_>>(), manifests.digest)
        }
    };
    let (from_directory, directory_digest) = names("./m").await;
    let (from_archive, archive_digest) = names("./m.tgz").await;
    assert_eq!(from_directory, ["a/c.yml", "b.yaml"]);
    assert_eq!(from_archive, from_directory);
    assert_eq!(directory_digest, archive_digest);
    assert_eq!(names("./m/b.yaml").await.0, ["b.yaml"]);
}

#[tokio::test]
async fn a_12_gigabyte_archive_is_rejected_without_reading_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = fs_err::File::create(directory.path().join("x.tgz")).unwrap();
    file.set_len(12 << 30).unwrap();
    for repo in ["file://x.tgz", "./x.tgz"] {
        let fetcher = local(directory.path());
        let chart = fetcher.fetch(&request(repo, "x", "")).await.unwrap_err();
        let manifests = fetcher.fetch_manifests(&request(repo, "", "")).await;
        for error in [chart, manifests.unwrap_err()] {
            let Error::Read { source, .. } = &error else {
                panic!("{error:?}");
            };
            assert_eq!(source.to_string(), "file is larger than 134217728 bytes");
        }
    }
}

#[tokio::test]
async fn manifests_are_read_within_limits() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let fetch = async || {
        let fetched = local(root).fetch_manifests(&request(".", "", "")).await;
        fetched.map(|manifests| manifests.files.len())
    };
    write(root, "a/b.yaml", "kind: A");
    let _listener = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    assert_eq!(fetch().await.unwrap(), 1);
    std::os::unix::fs::symlink(root, root.join("a/loop")).unwrap();
    let error = fetch().await.unwrap_err().to_string();
    assert!(
        error.ends_with("has directories that are nested more than 32 levels deep"),
        "{error}"
    );
    fs_err::remove_file(root.join("a/loop")).unwrap();
    for name in ["b", "c"] {
        let file = fs_err::File::create(root.join(format!("{name}.yaml"))).unwrap();
        file.set_len(60 << 20).unwrap();
    }
    let error = fetch().await.unwrap_err().to_string();
    assert!(
        error.ends_with("has manifests of more than 104857600 bytes in total"),
        "{error}"
    );
}

#[tokio::test]
async fn the_whole_disk_is_not_walked() {
    let request = request("file:///", "", "");
    let fetched = local(Path::new("/")).fetch_manifests(&request).await;
    assert!(matches!(
        fetched.unwrap_err(),
        Error::Limit { .. } | Error::Read { .. }
    ));
}
