//! Faults of the data directory.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::time::timeout;

use super::config_map;
use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;
use crate::process::{ANY_PORT, EmbeddedServer, Options};

/// Limits the store to a few megabytes: a write that does not fit fails, and reads succeed.
pub(super) async fn fill(target: &Target) -> anyhow::Result<String> {
    let options = Options {
        data: target.options.data.with_extension("full"),
        ..target.options.clone()
    };
    let mut server = EmbeddedServer::start_with_limit(&options, "f", (24 << 20) / 512).await?;
    let client = Client::connect(&server.endpoint).await?;
    let text = "x".repeat(500_000);
    let mut written = 0;
    let rejected = loop {
        let object = config_map(&format!("fill-{written}"), &text);
        let response = client.post(CONFIG_MAPS, object).await?;
        if response.status() != 201 {
            break response;
        }
        written += 1;
        ensure!(written < 500, "the disk never fills up");
    };
    let code = rejected.status();
    let status: Value = serde_json::from_slice(rejected.body()).unwrap_or_default();
    ensure!(
        code.is_server_error() && status["kind"] == "Status",
        "a write to a full disk returned {code} {:?}",
        rejected.body()
    );
    let read = client.get(&format!("{CONFIG_MAPS}/fill-0")).await?.status();
    ensure!(read == 200, "a read with a full disk returned {read}");
    server.kill().await?;
    // Without the limit, all acknowledged objects exist and writes succeed.
    let mut server = EmbeddedServer::start(&options).await?;
    let client = Client::connect(&server.endpoint).await?;
    for number in 0..written {
        let path = format!("{CONFIG_MAPS}/fill-{number}");
        let read = client.get(&path).await?.status();
        ensure!(read == 200, "fill-{number} is lost: {read}");
    }
    super::check_serving(&server).await?;
    server.kill().await?;
    let message = status["message"].as_str().unwrap_or_default();
    Ok(format!("after {written} objects {code} {message}"))
}

/// Starts a second server on the data directory of a running one; it must exit with an error.
pub(super) async fn share(target: &Target) -> anyhow::Result<String> {
    let options = &target.options;
    let kubeconfig = options.data.with_extension("second");
    let mut second = options.command(ANY_PORT, &kubeconfig);
    let output = second.stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = timeout(Duration::from_secs(20), output).await;
    let output = output.context("the second server keeps running")??;
    ensure!(!output.status.success(), "the second server succeeds");
    let stderr = String::from_utf8_lossy(&output.stderr);
    Ok(stderr.lines().collect::<Vec<_>>().join(" / "))
}
