//! Registries whose content is not what it says, or changes while it is copied.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;
use outrigger_oci::Digest;
use serde_json::{Value, json};

use super::hostile_registry::{Answer, HostileRegistry, Request};
use super::{Attack, Scene};
use crate::attack::Outcome;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The content of a repository: manifests of its tag one after the other, and what it serves for each digest.
#[derive(Default)]
struct Content {
    tagged: Vec<Vec<u8>>,
    by_digest: HashMap<String, Vec<u8>>,
}

impl Content {
    fn add(&mut self, bytes: &[u8]) -> Value {
        let digest = Digest::of(bytes).to_string();
        self.by_digest.insert(digest.clone(), bytes.to_vec());
        json!({"mediaType": "application/octet-stream", "digest": digest, "size": bytes.len()})
    }

    /// Adds an image, which its tag is at next. Returns the digest of its layer.
    fn add_image(&mut self, layer: &[u8]) -> String {
        let config = self.add(format!("{{\"a\":{}}}", layer.len()).as_bytes());
        let layer = self.add(layer);
        let digest = layer["digest"].as_str().unwrap_or_default().to_owned();
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        let bytes = manifest.to_string().into_bytes();
        self.add(&bytes);
        self.tagged.push(bytes);
        digest
    }

    async fn serve(self) -> anyhow::Result<HostileRegistry> {
        let requests = AtomicUsize::new(0);
        HostileRegistry::start(move |request| self.answer(request, &requests)).await
    }

    fn answer(&self, request: &Request, requests: &AtomicUsize) -> Answer {
        let name = request.path.rsplit('/').next().unwrap_or_default();
        let found = if name == "1" {
            let request = requests.fetch_add(1, Ordering::Relaxed);
            self.tagged.get(request).or_else(|| self.tagged.last())
        } else if request.path.contains("/referrers/") {
            None
        } else {
            self.by_digest.get(name)
        };
        match found {
            None => Answer::Content("HTTP/1.1 404 Not Found".to_owned(), Vec::new()),
            Some(bytes) => {
                let header = format!("HTTP/1.1 200 OK\r\ncontent-type: {MANIFEST}");
                Answer::Content(header, bytes.clone())
            }
        }
    }
}

/// Copies the image of a hostile registry to one of ours, whose content must stay correct.
async fn copy(scene: &Scene, content: Content) -> anyhow::Result<(super::Used, Option<String>)> {
    let source = content.serve().await?;
    let target = scene.registry("target").await?;
    let (from, to) = (&source.address, &target.address);
    let images = [format!("{from}/x/y:1"), format!("{to}/x/y:1")];
    let plain = ["--plain-http", from, "--plain-http", to, "--output", "json"];
    let used = scene
        .client(&[&["image", "copy", &images[0], &images[1]], &plain[..]].concat())
        .await?;
    scene.check(&target).await?;
    let inspect = ["image", "inspect", &images[1], "--plain-http", to];
    let inspected = scene
        .client(&[&inspect[..], &["--output", "json"]].concat())
        .await?;
    let copied = inspected.is_success.then(|| {
        let manifests: Value = serde_json::from_str(&inspected.stdout).unwrap_or_default();
        manifests[0]["digest"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    Ok((used, copied))
}

/// A layer that is not what its descriptor says.
fn lie(name: &'static str, served: &'static [u8], expected: &'static str) -> Attack {
    Attack::new(name, move |scene: Scene| async move {
        let mut content = Content::default();
        let digest = content.add_image(b"the content of the layer");
        content.by_digest.insert(digest, served.to_vec());
        let (used, copied) = copy(&scene, content).await?;
        ensure!(copied.is_none(), "the target has the image");
        used.failed_with(expected)
    })
}

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        lie(
            "a layer with other content",
            b"THE CONTENT OF THE LAYER",
            "has digest",
        ),
        lie(
            "a layer that is longer than it says",
            &[b'x'; 100],
            "bytes, but its descriptor says",
        ),
        lie(
            "a layer that is shorter than it says",
            b"the content",
            "connection was closed after",
        ),
        Attack::new("a tag that moves during the copy", async |scene: Scene| {
            let mut content = Content::default();
            content.add_image(b"before");
            content.add_image(b"after");
            let digests: Vec<String> = content
                .tagged
                .iter()
                .map(|bytes| Digest::of(bytes).to_string())
                .collect();
            let (used, copied) = copy(&scene, content).await?;
            used.succeeded()?;
            let copied = copied.unwrap_or_default();
            ensure!(digests.contains(&copied), "{copied} is neither");
            ensure!(used.stdout.contains(&copied), "another digest was reported");
            Ok(used.outcome("one of the two was copied completely, and reported"))
        }),
        Attack::new(
            "indexes that are nested 100 levels deep",
            async |scene: Scene| {
                let mut content = Content::default();
                content.add_image(b"innermost");
                for _ in 0..100 {
                    let inner = content.tagged.pop().unwrap_or_default();
                    let inner = json!({"mediaType": "application/vnd.oci.image.index.v1+json",
                    "digest": Digest::of(&inner).to_string(), "size": inner.len()});
                    let index = json!({"schemaVersion": 2, "manifests": [inner]});
                    let bytes = index.to_string().into_bytes();
                    content.add(&bytes);
                    content.tagged.push(bytes);
                }
                let (used, copied) = copy(&scene, content).await?;
                ensure!(copied.is_none(), "the target has the image");
                used.failed_with("nested more than")
            },
        ),
        Attack::new("100,000 tags", async |scene: Scene| {
            let tags: Vec<String> = (0..100_000).map(|tag| format!("0.0.{tag}")).collect();
            list_tags(&scene, tags, false, "has no chart").await
        }),
        Attack::new("tags without end", async |scene: Scene| {
            let tags: Vec<String> = (0..10_000).map(|tag| format!("0.0.{tag}")).collect();
            list_tags(&scene, tags, true, "tags").await
        }),
    ]
}

/// Looks for a version among tags, of which there may always be another page.
async fn list_tags(
    scene: &Scene,
    tags: Vec<String>,
    is_endless: bool,
    expected: &str,
) -> anyhow::Result<Outcome> {
    let page = AtomicUsize::new(0);
    let body = json!({"name": "x/web", "tags": tags})
        .to_string()
        .into_bytes();
    let registry = HostileRegistry::start(move |request| {
        if !request.path.contains("/tags/list") {
            return Answer::Content("HTTP/1.1 404 Not Found".to_owned(), Vec::new());
        }
        let page = page.fetch_add(1, Ordering::Relaxed);
        let next = if is_endless {
            format!("\r\nlink: </v2/x/web/tags/list?last={page}>; rel=\"next\"")
        } else {
            String::new()
        };
        Answer::Content(format!("HTTP/1.1 200 OK{next}"), body.clone())
    })
    .await?;
    let (address, chart) = (
        &registry.address,
        format!("oci://{}/x/web", registry.address),
    );
    let args = [
        "chart",
        "pull",
        &chart,
        "--version",
        "^1",
        "--plain-http",
        address,
    ];
    scene.client(&args).await?.failed_with(expected)
}
