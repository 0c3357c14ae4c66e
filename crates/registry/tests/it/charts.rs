//! The chart repository.

use std::collections::BTreeMap;
use std::io::Write as _;

use outrigger_oci::{Blob, Digest, chart_manifest};

use crate::server::{Registry, client};

fn chart(name: &str, version: &str, description: &str) -> Vec<u8> {
    archive(&[(name, version, description)])
}

/// An archive with a `Chart.yaml` for each of these.
fn archive(charts: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (name, version, description) in charts {
        let yaml = format!(
            "apiVersion: v2\nname: {name}\nversion: {version}\ndescription: {description}\n"
        );
        let mut header = tar::Header::new_gnu();
        header.set_size(yaml.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, "chart/Chart.yaml", yaml.as_bytes())
            .unwrap();
    }
    let mut gzip = tar.into_inner().unwrap();
    gzip.flush().unwrap();
    gzip.finish().unwrap()
}

async fn post(registry: &Registry, query: &str, body: Vec<u8>) -> u16 {
    let url = format!("http://{}/api/charts{query}", registry.address);
    let response = reqwest::Client::new()
        .post(url)
        .body(body)
        .send()
        .await
        .unwrap();
    response.status().as_u16()
}

async fn get(registry: &Registry, path: &str) -> (u16, Vec<u8>) {
    let response = reqwest::get(format!("http://{}{path}", registry.address))
        .await
        .unwrap();
    (
        response.status().as_u16(),
        response.bytes().await.unwrap().to_vec(),
    )
}

#[tokio::test]
async fn uploaded_charts_are_in_the_index_with_their_origin() {
    let registry = Registry::start().await;
    let (web, db) = (chart("web", "1.0.0", "x"), chart("db", "2.0.0+git.1", "y"));
    assert_eq!(post(&registry, "", web.clone()).await, 201);
    assert_eq!(post(&registry, "?origin=system", db.clone()).await, 201);
    assert_eq!(post(&registry, "", chart("web", "1.10.0", "x")).await, 201);
    let (status, index) = get(&registry, "/index.yaml").await;
    let index = String::from_utf8(index).unwrap();
    assert_eq!(status, 200);
    assert!(
        index.contains("outrigger.dev/origin: system")
            && index.contains("outrigger.dev/origin: user"),
        "{index}"
    );
    assert!(
        index.find("1.10.0").unwrap() < index.find("1.0.0\n").unwrap(),
        "{index}"
    );
    assert_eq!(
        get(&registry, "/charts/web-1.0.0.tgz").await,
        (200, web.clone())
    );
    assert_eq!(
        get(&registry, "/charts/db-2.0.0+git.1.tgz").await,
        (200, db)
    );
    // The same content is accepted again, other content of the same version is not.
    assert_eq!(post(&registry, "", web).await, 201);
    assert_eq!(
        post(&registry, "", chart("web", "1.0.0", "other")).await,
        409
    );
    assert_eq!(
        post(&registry, "?force", chart("web", "1.0.0", "other")).await,
        201
    );
    let delete =
        reqwest::Client::new().delete(format!("http://{}/api/charts/web/1.0.0", registry.address));
    assert_eq!(delete.send().await.unwrap().status(), 200);
    assert_eq!(get(&registry, "/charts/web-1.0.0.tgz").await.0, 404);
}

#[tokio::test]
async fn what_is_not_a_chart_is_rejected() {
    let registry = Registry::start().await;
    for body in [
        Vec::new(),
        b"text".to_vec(),
        chart("../evil", "1.0.0", "x"),
        chart("web", "latest", "x"),
        chart("Web", "1.0.0", "x"),
        chart("web", "1.0.0", &"x".repeat(300 << 10)),
        archive(&[("web", "1.0.0", "x"), ("db", "1.0.0", "x")]),
    ] {
        assert_eq!(post(&registry, "", body).await, 400);
    }
    assert_eq!(
        post(&registry, "?origin=root", chart("web", "1.0.0", "x")).await,
        400
    );
    assert_eq!(get(&registry, "/charts/..%2f..%2fetc").await.0, 404);
}

/// Helm resolves the URLs of an index against the URL of the repository, with a slash at its end.
#[tokio::test]
async fn the_urls_of_both_indexes_lead_to_the_archives() {
    let registry = Registry::start().await;
    let web = chart("web", "1.0.0", "x");
    assert_eq!(post(&registry, "", web.clone()).await, 201);
    for repository in ["/", "/charts/"] {
        let (status, index) = get(&registry, &format!("{repository}index.yaml")).await;
        assert_eq!(status, 200, "{repository}");
        let index = String::from_utf8(index).unwrap();
        let (_, urls) = index.split_once("urls:\n").unwrap();
        let url = urls.lines().next().unwrap().trim().trim_start_matches("- ");
        let base = format!("http://{}{repository}", registry.address);
        let base: reqwest::Url = base.parse().unwrap();
        let path = base.join(url).unwrap().path().to_owned();
        assert_eq!(get(&registry, &path).await, (200, web.clone()), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_uploads_of_one_version_one_is_rejected() {
    let registry = Registry::start().await;
    for round in 0..20 {
        let version = format!("1.0.{round}");
        let (a, b) = (chart("web", &version, "a"), chart("web", &version, "b"));
        let (a, b) = tokio::join!(post(&registry, "", a), post(&registry, "", b));
        assert_eq!([a.min(b), a.max(b)], [201, 409], "round {round}");
    }
}

#[tokio::test]
async fn a_version_in_two_repositories_is_listed_once() {
    let registry = Registry::start().await;
    let client = client(&[&registry.address]);
    let (own, other) = (chart("web", "1.0.0", "own"), chart("web", "1.0.0", "other"));
    let config = br#"{"apiVersion":"v2","name":"web","version":"1.0.0","description":"other"}"#;
    let manifest = chart_manifest(config, &other, BTreeMap::new()).unwrap();
    let image = registry.image("a/web:1.0.0");
    let blobs = manifest.parsed.blobs().zip([config.to_vec(), other]);
    for (descriptor, bytes) in blobs {
        let blob = Blob::memory(bytes, descriptor);
        let pushed = client.push_blob(image.repository(), blob, None).await;
        pushed.unwrap();
    }
    client.push_manifest(&image, &manifest).await.unwrap();
    assert_eq!(post(&registry, "", own.clone()).await, 201);
    let (_, index) = get(&registry, "/index.yaml").await;
    let index = String::from_utf8(index).unwrap();
    // The digest of the index is that of what its URL leads to.
    assert!(index.contains(Digest::of(&own).hex()), "{index}");
    assert_eq!(index.matches("version: 1.0.0").count(), 1, "{index}");
    assert_eq!(get(&registry, "/charts/web-1.0.0.tgz").await, (200, own));
}
