//! Connections that break, lie and change: copies resume, or fail without storing anything wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outrigger_oci::{Blob, Descriptor, Digest, Error};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Registry, client, content};

/// A proxy that closes each of its first connections after some bytes in one direction.
async fn cutting_proxy(
    target: String,
    cuts: usize,
    after: usize,
    from_client: bool,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    tokio::spawn(async move {
        let cut = Arc::new(AtomicUsize::new(0));
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&target).await.unwrap();
            let (cut, counter) = (Arc::clone(&cut), Arc::clone(&counter));
            tokio::spawn(forward(
                client,
                server,
                cut,
                cuts,
                after,
                from_client,
                counter,
            ));
        }
    });
    (address, sent)
}

async fn forward(
    client: TcpStream,
    server: TcpStream,
    cut: Arc<AtomicUsize>,
    cuts: usize,
    after: usize,
    from_client: bool,
    counter: Arc<AtomicUsize>,
) {
    let (mut client_read, mut client_write) = client.into_split();
    let (mut server_read, mut server_write) = server.into_split();
    let (mut up, mut down) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    let mut passed = 0;
    loop {
        let counted = tokio::select! {
            read = client_read.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                counter.fetch_add(length, Ordering::Relaxed);
                if server_write.write_all(&up[..length]).await.is_err() { return }
                if from_client { length } else { 0 }
            }
            read = server_read.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client_write.write_all(&down[..length]).await.is_err() { return }
                if from_client { 0 } else { length }
            }
        };
        passed += counted;
        if passed > after && cut.fetch_add(1, Ordering::Relaxed) < cuts {
            return;
        }
    }
}

fn descriptor(bytes: &[u8]) -> Descriptor {
    Descriptor::new(
        "application/octet-stream",
        Digest::of(bytes),
        bytes.len() as u64,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_breaks_is_resumed_where_it_broke() {
    let registry = Registry::start().await;
    let layer = content(1, 4_000_000);
    let image = registry.image("app:1");
    let direct = client(&[&registry.address]);
    direct
        .push_blob(
            image.repository(),
            Blob::memory(layer.clone(), &descriptor(&layer)),
            None,
        )
        .await
        .unwrap();
    let (proxy, _) = cutting_proxy(registry.address.clone(), 5, 500_000, false).await;
    let client = client(&[&proxy]);
    let repository = format!("{proxy}/app").parse().unwrap();
    let read = Blob::remote(&client, &repository, &descriptor(&layer))
        .read_all(10_000_000)
        .await
        .unwrap();
    assert!(read == layer);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_breaks_is_resumed_and_sends_little_twice() {
    let registry = Registry::start().await;
    let layer = content(1, 4_000_000);
    let (proxy, sent) = cutting_proxy(registry.address.clone(), 3, 1_000_000, true).await;
    let client = client(&[&proxy]);
    let repository = format!("{proxy}/app").parse().unwrap();
    client
        .push_blob(
            &repository,
            Blob::memory(layer.clone(), &descriptor(&layer)),
            None,
        )
        .await
        .unwrap();
    assert_eq!(
        client
            .blob_size(&repository, &Digest::of(&layer))
            .await
            .unwrap(),
        Some(4_000_000)
    );
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 7_000_000, "{sent} bytes for a blob of 4,000,000");
    assert_eq!(registry.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn content_that_changed_on_its_way_is_not_stored() {
    let registry = Registry::start().await;
    let client = client(&[&registry.address]);
    let (good, wrong) = (content(1, 1000), content(2, 1000));
    let repository = registry.image("app:1").repository().clone();
    let error = client
        .push_blob(&repository, Blob::memory(wrong, &descriptor(&good)), None)
        .await
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.to_string().contains("has digest"), "{source}");
    assert_eq!(
        client
            .blob_size(&repository, &Digest::of(&good))
            .await
            .unwrap(),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pushes_of_one_blob_do_not_disturb_each_other() {
    let registry = Registry::start().await;
    let client = client(&[&registry.address]);
    let layer = content(1, 2_000_000);
    let pushes = (0..8).map(|index| {
        let repository = registry
            .image(&format!("app{}:1", index % 2))
            .repository()
            .clone();
        let (client, layer) = (client.clone(), layer.clone());
        tokio::spawn(async move {
            client
                .push_blob(
                    &repository,
                    Blob::memory(layer.clone(), &descriptor(&layer)),
                    None,
                )
                .await
        })
    });
    for push in pushes.collect::<Vec<_>>() {
        push.await.unwrap().unwrap();
    }
    assert_eq!(registry.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn a_manifest_of_a_missing_blob_is_rejected_with_its_digest() {
    let registry = Registry::start().await;
    let client = client(&[&registry.address]);
    let bytes = serde_json::json!({"schemaVersion": 2, "layers": [descriptor(b"gone")]})
        .to_string()
        .into_bytes();
    let manifest = outrigger_oci::RawManifest::parse(bytes, None).unwrap();
    let error = client
        .push_manifest(&registry.image("app:1"), &manifest)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Status { status: 400, message, .. } if message.contains("MANIFEST_BLOB_UNKNOWN")),
        "{error}"
    );
}

/// A registry that answers each request with a header, and then with a byte now and then. It tells how many it sent.
async fn dripping_registry(status: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let counter = Arc::clone(&counter);
            tokio::spawn(async move {
                let mut request = vec![0; 16 << 10];
                let _ = client.read(&mut request).await;
                let header = format!("HTTP/1.1 {status}\r\ncontent-length: 1000000\r\n\r\n");
                let mut bytes = header.as_bytes();
                while client.write_all(bytes).await.is_ok() {
                    counter.fetch_add(1, Ordering::Relaxed);
                    bytes = b"x";
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            });
        }
    });
    (address, sent)
}

#[tokio::test]
async fn a_registry_that_sends_a_byte_at_a_time_is_given_up() {
    let (address, sent) = dripping_registry("200 OK").await;
    let mut options = crate::server::options(&[&address]);
    options.backoff.max_attempts = 3;
    options.stall_timeout = std::time::Duration::from_millis(100);
    let client = outrigger_oci::Client::new(options);
    let image: outrigger_oci::Reference = format!("{address}/app:1").parse().unwrap();
    let error = client.manifest(&image).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(sent.load(Ordering::Relaxed) > 1);
    let blob = Descriptor::new("a/b", Digest::of(b"x"), 1_000_000);
    let blob = Blob::remote(&client, image.repository(), &blob);
    let error = blob.read_all(1 << 20).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}

/// A registry whose uploads break, and that claims to have had more of them than was sent.
async fn boastful_registry(range: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let uploads = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&uploads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let counter = Arc::clone(&counter);
            tokio::spawn(async move {
                let mut request = vec![0; 16 << 10];
                let length = client.read(&mut request).await.unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let answer = match request.split(' ').next().unwrap_or_default() {
                    "HEAD" => "404 Not Found\r\ncontent-length: 0".to_owned(),
                    "POST" => {
                        counter.fetch_add(1, Ordering::Relaxed);
                        "202 Accepted\r\nlocation: /v2/app/blobs/uploads/1\r\ncontent-length: 0"
                            .to_owned()
                    }
                    "GET" => format!("204 No Content\r\nrange: {range}"),
                    // The connection is closed.
                    _ => return,
                };
                let answer = format!("HTTP/1.1 {answer}\r\nconnection: close\r\n\r\n");
                let _ = client.write_all(answer.as_bytes()).await;
            });
        }
    });
    (address, uploads)
}

#[tokio::test]
async fn an_upload_does_not_continue_after_what_was_sent() {
    for range in ["0-18446744073709551615", "0-18446744073709551614", "0-1999"] {
        let (address, uploads) = boastful_registry(range).await;
        let mut options = crate::server::options(&[&address]);
        options.backoff.max_attempts = 3;
        let client = outrigger_oci::Client::new(options);
        let layer = content(1, 1000);
        let blob = Blob::memory(layer.clone(), &descriptor(&layer));
        let repository = format!("{address}/app").parse().unwrap();
        let pushed = client.push_blob(&repository, blob, None).await;
        assert!(pushed.is_err(), "{range}");
        // Each attempt begins again.
        assert_eq!(uploads.load(Ordering::Relaxed), 3, "{range}");
    }
}
