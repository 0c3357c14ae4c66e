//! What a copy costs: requests and connections, counted by a proxy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use outrigger_oci::{
    Client, Copier, Copy, CopyOptions, Descriptor, Digest, Error, OCI_INDEX, Progress, RawManifest,
    Source,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Registry, client, content, push, push_with};

/// A proxy that notes the requests of clients that send no bodies.
struct CountingProxy {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl CountingProxy {
    async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (noted, counted) = (Arc::clone(&requests), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let server = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(forward(client, server, Arc::clone(&noted)));
            }
        });
        Self {
            address,
            requests,
            connections,
        }
    }

    /// The requests since the last call, sorted.
    fn take(&self) -> Vec<String> {
        let mut requests = std::mem::take(&mut *self.requests.lock().unwrap());
        requests.sort();
        requests
    }
}

async fn forward(client: TcpStream, server: TcpStream, requests: Arc<Mutex<Vec<String>>>) {
    let (mut client_read, mut client_write) = client.into_split();
    let (mut server_read, mut server_write) = server.into_split();
    let up = async {
        let (mut buffer, mut text) = (vec![0; 16 << 10], String::new());
        while let Ok(length @ 1..) = client_read.read(&mut buffer).await {
            text.push_str(&String::from_utf8_lossy(&buffer[..length]));
            while let Some((header, rest)) = text.split_once("\r\n\r\n") {
                let line = header.lines().next().unwrap_or_default();
                let line = line.trim_end_matches(" HTTP/1.1").to_owned();
                requests.lock().unwrap().push(line);
                text = rest.to_owned();
            }
            if server_write.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    let down = async { tokio::io::copy(&mut server_read, &mut client_write).await };
    tokio::select! {
        () = up => {}
        _ = down => {}
    }
}

/// Copies images, and returns which of them were there.
async fn copy(client: &Client, copies: &[Copy]) -> Vec<bool> {
    copy_with(client, copies, CopyOptions::default()).await
}

async fn copy_with(client: &Client, copies: &[Copy], options: CopyOptions) -> Vec<bool> {
    let progress = Arc::new(Progress::default());
    let copier = Copier::new(client.clone(), options, progress);
    let source = Source::Registry(client.clone());
    let results = copier.copy_all(&source, copies).await;
    results
        .into_iter()
        .map(|result| result.unwrap().unchanged)
        .collect()
}

#[tokio::test]
async fn an_image_that_is_there_takes_four_requests() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let from = CountingProxy::start(source.address.clone()).await;
    let to = CountingProxy::start(target.address.clone()).await;
    let client = client(&[&source.address, &target.address, &from.address, &to.address]);
    let copies = |from: &str, to: &str| -> Vec<Copy> {
        let copy = |app: u8| Copy {
            source: format!("{from}/team/app{app}:1").parse().unwrap(),
            target: format!("{to}/team/app{app}:1").parse().unwrap(),
        };
        (0..20).map(copy).collect()
    };
    let direct = copies(&source.address, &target.address);
    for (app, image) in (0..20).zip(&direct) {
        push(&client, &image.source, &[content(app, 1000)]).await;
    }
    assert_eq!(copy(&client, &direct).await, [false; 20]);
    let copies = copies(&from.address, &to.address);
    assert_eq!(copy(&client, &copies).await, [true; 20]);
    let first = &copies[0].source;
    let digest = client.manifest(first).await.unwrap().digest;
    let mut expected = [
        "GET /v2/team/app0/manifests/1".to_owned(),
        format!("GET /v2/team/app0/referrers/{digest}"),
        "GET /v2/team/app0/tags/list?n=1000".to_owned(),
        // The one of this test
        "GET /v2/team/app0/manifests/1".to_owned(),
    ];
    expected.sort();
    let requests = from.take();
    let of_first = requests.iter().filter(|line| line.contains("/app0/"));
    assert_eq!(
        of_first.collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    assert_eq!(requests.len(), 20 * 3 + 1, "{requests:?}");
    let requests = to.take();
    assert_eq!(requests.len(), 20, "{requests:?}");
    assert!(requests.contains(&"HEAD /v2/team/app0/manifests/1".to_owned()));
    // Connections are used again: two for each of four images at a time, and those opened while another one becomes free.
    for proxy in [&from, &to] {
        let connections = proxy.connections.load(Ordering::Relaxed);
        assert!(connections <= 16, "{connections} connections");
    }
}

#[tokio::test]
async fn an_index_that_lost_a_manifest_is_completed() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let mut children = Vec::new();
    for (seed, name) in [(1, "app:amd64"), (2, "app:arm64")] {
        let image = push(&client, &source.image(name), &[content(seed, 1000)]).await;
        children.push(image.descriptor());
    }
    let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": children});
    let index = RawManifest::parse(index.to_string().into_bytes(), None).unwrap();
    let image = source.image("app:1");
    client.push_manifest(&image, &index).await.unwrap();
    let copies = [Copy {
        source: image,
        target: target.image("app:1"),
    }];
    assert_eq!(copy(&client, &copies).await, [false]);
    assert_eq!(copy(&client, &copies).await, [true]);
    let lost = target.image(&format!("app@{}", children[1].digest));
    let url = format!(
        "http://{}/v2/app/manifests/{}",
        target.address, children[1].digest
    );
    let deleted = reqwest::Client::new().delete(url).send().await.unwrap();
    assert_eq!(deleted.status(), 202);
    assert_eq!(copy(&client, &copies).await, [false]);
    assert!(client.manifest(&lost).await.is_ok());
}

#[tokio::test]
async fn a_blob_that_the_target_lost_is_sent_again_if_blobs_are_checked() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let layer = content(1, 1000);
    let digest = Digest::of(&layer);
    push(&client, &source.image("app:1"), &[layer]).await;
    let copies = [Copy {
        source: source.image("app:1"),
        target: target.image("app:1"),
    }];
    copy(&client, &copies).await;
    let url = format!("http://{}/v2/app/blobs/{digest}", target.address);
    let deleted = reqwest::Client::new().delete(url).send().await.unwrap();
    assert_eq!(deleted.status(), 202);
    // A registry that has the manifest is trusted to have its blobs.
    assert_eq!(copy(&client, &copies).await, [true]);
    let options = CopyOptions {
        check_blobs: true,
        ..CopyOptions::default()
    };
    assert_eq!(copy_with(&client, &copies, options).await, [false]);
    let repository = copies[0].target.repository();
    let found = client.blob_size(repository, &digest).await.unwrap();
    assert_eq!(found, Some(1000));
}

#[tokio::test]
async fn a_blob_that_is_damaged_in_the_target_is_replaced_if_blobs_are_checked() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let layer = content(1, 1000);
    let digest = Digest::of(&layer);
    push(
        &client,
        &source.image("app:1"),
        std::slice::from_ref(&layer),
    )
    .await;
    let copies = ["app:1", "other/app:1"].map(|name| Copy {
        source: source.image("app:1"),
        target: target.image(name),
    });
    copy(&client, &copies).await;
    let hex = digest.hex();
    let path = target
        .folder
        .path()
        .join(format!("blobs/sha256/{}/{hex}", &hex[..2]));
    let repository = copies[0].target.repository();
    let blob = Descriptor::new("a/b", digest.clone(), 1000);
    let options = CopyOptions {
        check_blobs: true,
        ..CopyOptions::default()
    };
    for damaged in [content(2, 1000), content(1, 999), Vec::new()] {
        fs_err::write(&path, damaged).unwrap();
        let error = client.verify_blob(repository, &blob).await.unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.ends_with(&format!("is damaged in {repository}")),
            "{text}"
        );
        copy_with(&client, &copies, options.clone()).await;
        assert_eq!(target.problems(), Vec::<String>::new());
        assert_eq!(fs_err::read(&path).unwrap(), layer);
    }
}

#[tokio::test]
async fn what_refers_to_a_referrer_is_copied_when_that_is_there() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let refer = async |subject: &RawManifest, name: &str| {
        let fields = json!({"subject": subject.descriptor(), "artifactType": "application/x"});
        push_with(&client, &source.image(name), &[], &fields).await
    };
    let image = push(&client, &source.image("app:1"), &[content(1, 100)]).await;
    let sbom = refer(&image, "app:sbom").await;
    let copies = [Copy {
        source: source.image("app:1"),
        target: target.image("app:1"),
    }];
    copy(&client, &copies).await;
    // The SBOM is signed later, or an interrupted copy got as far as this.
    let signature = refer(&sbom, "app:signature").await;
    assert_eq!(copy(&client, &copies).await, [true]);
    let repository = copies[0].target.repository();
    let found = client.referrers(repository, &sbom.digest).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].digest, signature.digest);
}

#[tokio::test]
async fn the_signatures_of_platforms_are_copied_along() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let child = push(&client, &source.image("app:amd64"), &[content(1, 100)]).await;
    let index =
        json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [child.descriptor()]});
    let index = RawManifest::parse(index.to_string().into_bytes(), None).unwrap();
    let image = source.image("app:1");
    client.push_manifest(&image, &index).await.unwrap();
    let signature = format!("app:sha256-{}.sig", child.digest.hex());
    push(&client, &source.image(&signature), &[content(2, 100)]).await;
    let copies = [Copy {
        source: image,
        target: target.image("app:1"),
    }];
    copy(&client, &copies).await;
    assert!(client.manifest(&target.image(&signature)).await.is_ok());
}

/// A registry that has nothing, and sends the body of each answer after its header.
async fn slow_registry() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut buffer = vec![0; 16 << 10];
                while let Ok(1..) = client.read(&mut buffer).await {
                    let header = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n";
                    client.write_all(header).await.unwrap();
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    if client.write_all(b"{}").await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, connections)
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_error() {
    let (address, connections) = slow_registry().await;
    let client = client(&[&address]);
    for _ in 0..10 {
        let image = format!("{address}/app:1").parse().unwrap();
        assert!(client.manifest(&image).await.unwrap_err().is_not_found());
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}
