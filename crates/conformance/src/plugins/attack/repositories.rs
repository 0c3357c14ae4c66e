//! Repositories that do not answer, or answer with nonsense.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::good_plugin::{self, TIMEOUT, until};
use crate::plugins::cluster::Cluster;

const REPOSITORIES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    /// Accepts connections and never answers.
    Silent,
    /// Sends a byte per second.
    Slow,
    /// Answers with something else than an index, each with another.
    Lying,
    /// Sends an index without end.
    Endless,
    /// Closes the connection in the middle of the index.
    Dying,
}

/// What lying repositories answer.
const LIES: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<html></html",
    "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\napiVersion: v1\n",
    "HTTP/1.1 302 Found\r\nLocation: /index.yaml\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\n\r\n",
    "HTTP/1.1 503 Busy\r\nRetry-After: 99999999\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 127\r\n\r\napiVersion: v1\nentries: {small: [{name: small, version: 1.0.0, urls: ['/index.yaml'], digest: 0000000000000000000000000000000000}]}\n",
    "HTTP/9.9 nonsense\r\n\r\n",
];

/// Twenty plugins of such repositories wait and say for what, while another plugin is not delayed.
pub(super) async fn attack(
    cluster: &Cluster,
    behavior: Behavior,
    limit: Duration,
) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    let mut created = Vec::new();
    for number in 0..REPOSITORIES {
        let address = serve(behavior, number).await?;
        let spec = json!({"repo": format!("http://{address}/charts")});
        created.push(plugins.plugin(&format!("bad-{number}"), spec)?);
    }
    let start = Instant::now();
    plugins.create(created).await?;
    plugins
        .wait_until_all(REPOSITORIES, is_reported, TIMEOUT)
        .await?;
    let reported = start.elapsed();
    ensure!(
        behavior == Behavior::Lying || reported <= limit,
        "the last plugin was reported after {reported:?}"
    );
    let good = good_plugin::exercise(plugins, limit).await?;
    let start = Instant::now();
    good_plugin::patch(plugins, "bad-0", json!({"spec": {"enabled": false}})).await?;
    until(plugins, "bad-0", |plugin| {
        plugin.is_observed() && plugin.phase() == Phase::Disabled
    })
    .await?;
    good_plugin::remove(plugins, "bad-1").await?;
    let removed = start.elapsed();
    ensure!(
        removed <= limit,
        "the removal of two of them took {removed:?}"
    );
    Ok(format!(
        "all report what they wait for within {:.2} s; {good}",
        reported.as_secs_f64()
    ))
}

/// Whether the condition Fetched says why the chart is not there.
fn is_reported(plugin: &Plugin) -> bool {
    let fetched = plugin.condition("Fetched");
    let says_why = fetched.is_some_and(|fetched| {
        fetched.status == ConditionStatus::False && !fetched.message.is_empty()
    });
    says_why && plugin.phase() != Phase::Ready
}

/// Starts a repository. Returns its address.
pub(super) async fn serve(behavior: Behavior, number: usize) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener
        .local_addr()
        .context("a bound socket has an address")?;
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                // The client may give up at any time.
                let _ = answer(connection, behavior, number).await;
            });
        }
    });
    Ok(address.to_string())
}

async fn answer(
    mut connection: TcpStream,
    behavior: Behavior,
    number: usize,
) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let _ = connection.read(&mut request).await?;
    let header = "HTTP/1.1 200 OK\r\nContent-Type: text/yaml\r\n\r\napiVersion: v1\nentries:\n";
    match behavior {
        Behavior::Silent => std::future::pending::<()>().await,
        Behavior::Slow => {
            connection.write_all(header.as_bytes()).await?;
            loop {
                connection.write_all(b"#").await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Behavior::Lying => {
            let lie = LIES[number % LIES.len()];
            connection.write_all(lie.as_bytes()).await?;
        }
        Behavior::Endless => {
            connection.write_all(header.as_bytes()).await?;
            let chunk = "  a: [{name: a, version: 1.0.0}]\n".repeat(1000);
            loop {
                connection.write_all(chunk.as_bytes()).await?;
                // As fast as a good network, but not as fast as a CPU.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Behavior::Dying => {
            let header = header.replace("Content-Type: text/yaml", "Content-Length: 100000");
            connection.write_all(header.as_bytes()).await?;
        }
    }
    Ok(())
}
