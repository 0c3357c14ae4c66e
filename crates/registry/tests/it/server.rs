//! A registry in the test process, and images to push to it.

use std::net::SocketAddr;
use std::time::Duration;

use outrigger_oci::{
    Backoff, Blob, Client, Descriptor, Digest, OCI_CONFIG, OCI_MANIFEST, Options, RawManifest,
    Reference,
};
use outrigger_registry::{Server, ServerOptions, Store, StoreOptions};
use serde_json::json;

pub(crate) struct Registry {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Registry {
    pub(crate) async fn start() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub(crate) async fn with(options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind(any, store, options).await.unwrap();
        let address = server.address().unwrap().to_string();
        let task = tokio::spawn(server.run(std::future::pending()));
        Self {
            folder,
            address,
            task,
        }
    }

    pub(crate) fn image(&self, name: &str) -> Reference {
        format!("{}/{name}", self.address).parse().unwrap()
    }

    /// The problems that a check of the store finds.
    pub(crate) fn problems(&self) -> Vec<String> {
        let store = Store::attach(self.folder.path(), StoreOptions::default()).unwrap();
        let mut problems = Vec::new();
        store
            .check(&mut |problem| problems.push(problem.to_string()))
            .unwrap();
        problems
    }
}

/// A client that retries quickly, for registries without TLS.
pub(crate) fn client(addresses: &[&str]) -> Client {
    Client::new(options(addresses))
}

pub(crate) fn options(addresses: &[&str]) -> Options {
    Options {
        plain_http: addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect(),
        backoff: Backoff {
            max_attempts: 8,
            initial: Duration::from_millis(5),
            max: Duration::from_millis(50),
        },
        ..Options::default()
    }
}

/// Content that does not repeat.
pub(crate) fn content(seed: u8, size: usize) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24).to_le_bytes()[0]
    };
    (0..size).map(next).collect()
}

fn describe(kind: &str, bytes: &[u8]) -> Descriptor {
    Descriptor::new(kind, Digest::of(bytes), bytes.len() as u64)
}

/// Pushes an image with these layers.
pub(crate) async fn push(client: &Client, image: &Reference, layers: &[Vec<u8>]) -> RawManifest {
    push_with(client, image, layers, &json!({})).await
}

/// Pushes an image whose manifest has further fields.
pub(crate) async fn push_with(
    client: &Client,
    image: &Reference,
    layers: &[Vec<u8>],
    fields: &serde_json::Value,
) -> RawManifest {
    let config = image.to_string().into_bytes();
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": describe(OCI_CONFIG, &config),
        "layers": layers.iter().map(|layer| describe("application/octet-stream", layer)).collect::<Vec<_>>(),
    });
    for (key, value) in fields.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    for bytes in layers.iter().chain([&config]) {
        let blob = Blob::memory(bytes.clone(), &describe("a/b", bytes));
        client
            .push_blob(image.repository(), blob, None)
            .await
            .unwrap();
    }
    let manifest = RawManifest::parse(serde_json::to_vec(&manifest).unwrap(), None).unwrap();
    client.push_manifest(image, &manifest).await.unwrap();
    manifest
}
