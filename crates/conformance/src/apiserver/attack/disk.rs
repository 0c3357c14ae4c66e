//! Faults of the data directory.

mod small_disk;

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
use small_disk::SmallDisk;

/// Fills the disk: writes fail, reads and deletions succeed, also after a restart, and then there is space again.
pub(super) async fn fill(target: &Target) -> anyhow::Result<String> {
    let options = Options {
        data: target.options.data.with_extension("disk"),
        ..target.options.clone()
    };
    let disk = SmallDisk::mount(&options.data, 24 << 20).await?;
    let mut server = EmbeddedServer::start_by(&disk.enter(), &options).await?;
    let mut client = Client::connect(&server.endpoint).await?;
    let object = |number: usize| config_map(&format!("fill-{number}"), &"x".repeat(500_000));
    let mut written = 0;
    let rejected = loop {
        let response = client.post(CONFIG_MAPS, object(written)).await?;
        if response.status() != 201 {
            break response;
        }
        written += 1;
        ensure!(written < 100, "the disk never fills up");
    };
    let status: Value = serde_json::from_slice(rejected.body()).unwrap_or_default();
    ensure!(
        rejected.status() == 507 && status["kind"] == "Status",
        "a write to a full disk returned {} {:?}",
        rejected.status(),
        rejected.body()
    );
    for number in 0..written {
        if number == written / 2 {
            server.kill().await?;
            server = EmbeddedServer::start_by(&disk.enter(), &options).await?;
            client = Client::connect(&server.endpoint).await?;
        }
        let path = format!("{CONFIG_MAPS}/fill-{number}");
        let read = client.get(&path).await?.status();
        ensure!(read == 200, "a read with a full disk returned {read}");
        let deleted = client.delete(&path).await?.status();
        ensure!(
            deleted == 200,
            "a deletion with a full disk returned {deleted}"
        );
    }
    let created = client.post(CONFIG_MAPS, object(written)).await?.status();
    ensure!(
        created == 201,
        "a write after the deletions returned {created}"
    );
    super::check_serving(&server).await?;
    server.kill().await?;
    let message = status["message"].as_str().unwrap_or_default();
    Ok(format!("after {written} objects 507 {message}"))
}

/// Limits the size of the file: a write that does not fit fails, and reads succeed.
pub(super) async fn limit_file_size(target: &Target) -> anyhow::Result<String> {
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
        "a write beyond the limit returned {code} {:?}",
        rejected.body()
    );
    let read = client.get(&format!("{CONFIG_MAPS}/fill-0")).await?.status();
    ensure!(read == 200, "a read returned {read}");
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
