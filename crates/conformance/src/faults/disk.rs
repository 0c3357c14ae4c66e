//! Trouble with the data folder.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::requests::{PATH, config_map};
use crate::client::Client;
use crate::embedded::{self, Embedded, Options};

/// The store may not grow beyond a few megabytes: a write that does not fit fails, and reads go on.
pub(super) async fn full(options: &Options) -> anyhow::Result<String> {
    let server = Embedded::start_limited(options, 24 << 20).await?;
    let client = Client::connect(&server.endpoint).await?;
    let text = "x".repeat(500_000);
    let mut written = 0;
    let refused = loop {
        let answer = client
            .post(PATH, config_map(&format!("fill-{written}"), &text))
            .await?;
        if answer.status != 201 {
            break answer;
        }
        written += 1;
        anyhow::ensure!(written < 500, "the disk is never full");
    };
    let status: Value = serde_json::from_slice(&refused.body).unwrap_or_default();
    anyhow::ensure!(
        refused.status.is_server_error() && status["kind"] == "Status",
        "a full disk answers {} {:?}",
        refused.status,
        refused.body
    );
    let read = client.get(&format!("{PATH}/fill-0")).await?;
    anyhow::ensure!(read.status == 200, "a read then answers {}", read.status);
    server.kill().await?;
    // With room again, everything that was acknowledged is there and writes work.
    let server = Embedded::start(options).await?;
    let client = Client::connect(&server.endpoint).await?;
    for number in 0..written {
        let read = client.get(&format!("{PATH}/fill-{number}")).await?;
        anyhow::ensure!(read.status == 200, "fill-{number} is lost: {}", read.status);
    }
    super::goes_on(&server).await?;
    server.kill().await?;
    let message = status["message"].as_str().unwrap_or_default();
    Ok(format!(
        "after {written} objects {} {message}",
        refused.status
    ))
}

/// The second one refuses, and says why.
pub(super) async fn shared(options: &Options) -> anyhow::Result<String> {
    let server = Embedded::start(options).await?;
    let mut second: Command = embedded::command(options, &options.data.with_extension("second"));
    let output = second.stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = timeout(Duration::from_secs(20), output).await;
    let output = output.context("the second server runs")??;
    anyhow::ensure!(!output.status.success(), "the second server succeeds");
    super::goes_on(&server).await?;
    server.kill().await?;
    let told = String::from_utf8_lossy(&output.stderr);
    Ok(told.lines().collect::<Vec<_>>().join(" / "))
}
