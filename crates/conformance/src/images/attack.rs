//! Hostile registries against `outrigger image`: each gets a clear error, in bounded time and memory.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wait4::Wait4 as _;

use crate::attack::{self, Args, Named, Outcome};
use crate::process::command_in;

/// The most memory that a client may use.
const MAX_MEMORY: u64 = 64 << 20;

/// A registry that answers all requests in one way, and the error that the client must report.
struct Attack {
    name: &'static str,
    answer: fn(&str) -> Answer,
    expected: &'static str,
    is_short: bool,
}

enum Answer {
    Text(String),
    /// A header, then bytes without end
    Endless(String),
    Silent,
    Close,
}

impl Named for Attack {
    fn name(&self) -> &str {
        self.name
    }

    fn is_short(&self) -> bool {
        self.is_short
    }
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    attack::run(args, &attacks(), async |attack: &Attack, directory| {
        attack.run(binary, directory).await
    })
    .await
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

fn attacks() -> Vec<Attack> {
    let mut attacks = broken_answers();
    attacks.extend(lies());
    attacks.extend(detours());
    attacks.push(Attack {
        name: "never answers",
        answer: |_| Answer::Silent,
        expected: "no answer within",
        is_short: false,
    });
    attacks
}

fn attack(name: &'static str, answer: fn(&str) -> Answer, expected: &'static str) -> Attack {
    let is_short = true;
    Attack {
        name,
        answer,
        expected,
        is_short,
    }
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

impl Attack {
    async fn run(&self, binary: &Path, directory: &Path) -> anyhow::Result<Outcome> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let server = tokio::spawn(serve(listener, self.answer));
        let config = directory.join("config.json");
        // Credentials for the registry, which nobody else may get: hunter2.
        fs_err::write(
            &config,
            format!("{{\"auths\":{{\"{address}\":{{\"auth\":\"YW5uOmh1bnRlcjI=\"}}}}}}"),
        )?;
        let mut client = command_in(directory, binary);
        client.args([
            "image",
            "inspect",
            &format!("{address}/x/y:1"),
            "--plain-http",
            &address,
            "--authfile",
        ]);
        client.arg(&config).stderr(
            fs_err::File::create(directory.join("stderr"))?
                .into_parts()
                .0,
        );
        let waiting = tokio::task::spawn_blocking(move || anyhow::Ok(client.spawn()?.wait4()?));
        let used = tokio::time::timeout(Duration::from_mins(3), waiting)
            .await
            .context("the client did not end within 3 minutes")???;
        server.abort();
        let text = fs_err::read_to_string(directory.join("stderr"))?;
        ensure!(!used.status.success(), "the client accepted it");
        ensure!(
            text.contains(self.expected),
            "expected {:?} in: {text}",
            self.expected
        );
        ensure!(!text.contains("hunter2"), "the password is in: {text}");
        ensure!(
            used.rusage.maxrss <= MAX_MEMORY,
            "the client used {} MiB",
            used.rusage.maxrss >> 20
        );
        let line = text
            .lines()
            .rfind(|line| line.contains(self.expected))
            .unwrap_or_default();
        Ok(Outcome {
            answer: line.trim().chars().take(90).collect(),
            peak: Some(used.rusage.maxrss),
            neighbor: None,
        })
    }
}

async fn serve(listener: TcpListener, answer: fn(&str) -> Answer) -> anyhow::Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::spawn(respond(connection, answer));
    }
}

async fn respond(mut connection: TcpStream, answer: fn(&str) -> Answer) -> anyhow::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let length = connection.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
        match answer(&path) {
            Answer::Text(text) => connection.write_all(text.as_bytes()).await?,
            Answer::Close => return Ok(()),
            Answer::Silent => std::future::pending::<()>().await,
            Answer::Endless(header) => {
                connection.write_all(header.as_bytes()).await?;
                let chunk = vec![b'a'; 64 << 10];
                loop {
                    connection.write_all(&chunk).await?;
                }
            }
        }
    }
}
