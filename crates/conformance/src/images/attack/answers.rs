//! Registries that answer all requests in one way: each gets a clear error.

use anyhow::ensure;

use super::hostile_registry::{Answer, HostileRegistry};
use super::{Attack, Scene};
use crate::attack::Outcome;

fn attack(name: &'static str, answer: fn(&str) -> Answer, expected: &'static str) -> Attack {
    Attack::new(name, move |scene: Scene| async move {
        let registry = HostileRegistry::start(move |request| answer(&request.path)).await?;
        inspect(&scene, &registry.address, expected).await
    })
}

/// Inspects an image with credentials for the registry, which nobody else may get.
async fn inspect(scene: &Scene, address: &str, expected: &str) -> anyhow::Result<Outcome> {
    let config = scene.folder.join("config.json");
    // ann:hunter2
    let auth = format!("{{\"auths\":{{\"{address}\":{{\"auth\":\"YW5uOmh1bnRlcjI=\"}}}}}}");
    fs_err::write(&config, auth)?;
    let image = format!("{address}/x/y:1");
    let config = config.display().to_string();
    let args = [
        "image",
        "inspect",
        &image,
        "--plain-http",
        address,
        "--authfile",
        &config,
    ];
    let used = scene.client(&args).await?;
    ensure!(
        !used.stderr.contains("hunter2"),
        "the password is in: {}",
        used.stderr
    );
    used.failed_with(expected)
}

fn ok(kind: &str, body: &str) -> Answer {
    Answer::Text(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn redirect(location: &str) -> Answer {
    Answer::Text(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ))
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const SOME_DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn attacks() -> Vec<Attack> {
    let mut attacks = broken_answers();
    attacks.extend(lies());
    attacks.extend(detours());
    attacks.push(attack("never answers", |_| Answer::Silent, "timed out").long());
    attacks.push(Attack::new("an unknown host", async |scene| {
        inspect(&scene, "registry.invalid", "failed to reach").await
    }));
    attacks.push(Attack::new("a refused connection", async |scene| {
        let registry = HostileRegistry::start(|_| Answer::Close).await?;
        let address = registry.address.clone();
        drop(registry);
        inspect(&scene, &address, "failed to reach").await
    }));
    attacks
}

/// Answers that are not HTTP, not complete, or without end.
fn broken_answers() -> Vec<Attack> {
    let endless = |_: &str| {
        Answer::Endless(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {MANIFEST}\r\n\r\n"
        ))
    };
    let large = |_: &str| {
        let length = "content-length: 100000000";
        Answer::Endless(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {MANIFEST}\r\n{length}\r\n\r\n"
        ))
    };
    let half = |_: &str| Answer::Text("HTTP/1.1 200 O".to_owned());
    let busy = |_: &str| {
        Answer::Text(
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
                .to_owned(),
        )
    };
    vec![
        attack(
            "closes every connection",
            |_| Answer::Close,
            "failed to reach",
        ),
        attack(
            "answers with text",
            |_| ok("text/html", "<html>"),
            "is invalid",
        ),
        attack("answers with half a header", half, "failed to reach"),
        attack(
            "answers with another protocol",
            |_| Answer::Text("SSH-2.0-OpenSSH\r\n".to_owned()),
            "failed to reach",
        ),
        attack("a manifest without end", endless, "is larger than"),
        attack("a manifest of 100 MB", large, "is larger than"),
        attack(
            "headers without end",
            |_| Answer::Endless("HTTP/1.1 200 OK\r\nx: ".to_owned()),
            "failed to reach",
        ),
        attack("always too many requests", busy, "status 429"),
    ]
}

/// Manifests that are wrong or ambiguous.
fn lies() -> Vec<Attack> {
    let other = |_: &str| {
        let child =
            format!("{{\"mediaType\":\"{INDEX}\",\"digest\":\"{SOME_DIGEST}\",\"size\":1}}");
        ok(
            INDEX,
            &format!("{{\"schemaVersion\":2,\"manifests\":[{child}]}}"),
        )
    };
    let negative = |_: &str| {
        let layer = format!("{{\"mediaType\":\"a/b\",\"digest\":\"{SOME_DIGEST}\",\"size\":-1}}");
        ok(
            MANIFEST,
            &format!("{{\"schemaVersion\":2,\"layers\":[{layer}]}}"),
        )
    };
    let both = |_: &str| {
        ok(
            MANIFEST,
            "{\"schemaVersion\":2,\"layers\":[],\"manifests\":[]}",
        )
    };
    let many_urls = |_: &str| {
        let urls = vec!["\"\""; 1_000_000].join(",");
        let layer = format!(
            "{{\"mediaType\":\"a/b\",\"digest\":\"{SOME_DIGEST}\",\"size\":1,\"urls\":[{urls}]}}"
        );
        ok(
            MANIFEST,
            &format!("{{\"schemaVersion\":2,\"layers\":[{layer}]}}"),
        )
    };
    let schema1 = |_: &str| ok(MANIFEST, "{\"schemaVersion\":1,\"layers\":[]}");
    vec![
        attack(
            "an index that contains another manifest than it says",
            other,
            "has digest",
        ),
        attack("a manifest with layers and manifests", both, "is invalid"),
        attack("a manifest of schema 1", schema1, "is invalid"),
        attack("a negative size", negative, "is invalid"),
        attack(
            "a layer with a million URLs",
            many_urls,
            "more than 100 entries",
        ),
    ]
}

/// Redirects and challenges that lead elsewhere.
fn detours() -> Vec<Attack> {
    let foreign =
        |_: &str| unauthorized("Bearer realm=\"http://evil.example/token\",service=\"x\"");
    vec![
        attack("redirects to itself", redirect, "redirects more than"),
        attack(
            "redirects to a metadata service",
            |_| redirect("http://169.254.169.254/latest"),
            "loopback or link-local",
        ),
        attack(
            "redirects to another loopback address",
            |_| redirect("http://127.0.0.2:5000/v2/"),
            "loopback or link-local",
        ),
        attack(
            "redirects to a file",
            |_| redirect("file:///etc/passwd"),
            "redirects to a file URL",
        ),
        attack("a token service on another host", foreign, "another host"),
        attack(
            "an unknown kind of authentication",
            |_| unauthorized("Negotiate"),
            "not supported",
        ),
        attack(
            "credentials are never accepted",
            |_| unauthorized("Basic realm=\"x\""),
            "rejected the credentials",
        ),
    ]
}

fn unauthorized(challenge: &str) -> Answer {
    Answer::Text(format!(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: {challenge}\r\ncontent-length: 0\r\n\r\n"
    ))
}
