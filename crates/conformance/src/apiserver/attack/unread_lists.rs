//! Clients that request large lists and do not read them.

use anyhow::ensure;
use futures::future::try_join_all;
use http_body_util::Full;
use hyper::body::Incoming;

use super::config_map;
use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;
use crate::procfs;

const CLIENTS: usize = 80;
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// 100 MB in all.
const OBJECTS: usize = 200;
const SIZE: usize = 500_000;
/// The limit for the growth of the server's memory in MiB.
const MAX_GROWTH: u64 = 250;

/// Formats: the query and the headers `Accept` and `Accept-Encoding`.
type Format = (&'static str, &'static str, &'static str);

pub(super) async fn yaml(target: &Target) -> anyhow::Result<String> {
    unread(target, ("", "application/yaml", "")).await
}

pub(super) async fn pretty_json(target: &Target) -> anyhow::Result<String> {
    unread(target, ("?pretty=1", "application/json", "")).await
}

pub(super) async fn tables(target: &Target) -> anyhow::Result<String> {
    unread(target, ("?includeObject=Object", TABLE, "")).await
}

pub(super) async fn compressed(target: &Target) -> anyhow::Result<String> {
    unread(target, ("", "application/json", "gzip")).await
}

async fn unread(target: &Target, format: Format) -> anyhow::Result<String> {
    // Text that neither compresses nor is written as one long line of YAML.
    let line = || format!("{:016x}{:016x}\n", fastrand::u64(..), fastrand::u64(..));
    for number in 0..OBJECTS {
        let text: String = std::iter::repeat_with(line).take(SIZE / 33).collect();
        let object = config_map(&format!("large-{number}"), &text);
        let code = target.client.post(CONFIG_MAPS, object).await?.status();
        ensure!(code == 201, "create returned {code}");
    }
    let pid = target.server.pid()?;
    let before = procfs::resident_memory(&[pid])?;
    let bodies = try_join_all((0..CLIENTS).map(|_| request(target, format))).await?;
    let mut peak = 0;
    // One client reads all of its list, while the others do not read theirs.
    let (mut read, mut reader) = (0, request(target, format).await?);
    while let Some(frame) = http_body_util::BodyExt::frame(&mut reader.1).await {
        read += frame?.data_ref().map_or(0, bytes::Bytes::len);
        peak = peak.max(procfs::resident_memory(&[pid])?);
    }
    drop(bodies);
    let growth = peak.saturating_sub(before) >> 20;
    ensure!(growth <= MAX_GROWTH, "memory grew by {growth} MiB");
    ensure!(read > 1_000_000, "the list has only {read} bytes");
    Ok(format!(
        "{CLIENTS} unread lists, memory grew by {growth} MiB; one was read: {} MB",
        read / 1_000_000
    ))
}

/// Sends a request on its own connection and waits for the response headers.
async fn request(
    target: &Target,
    (query, accept, encoding): Format,
) -> anyhow::Result<(Client, Incoming)> {
    let client = Client::connect(&target.server.endpoint).await?;
    let request = client.request("GET", &format!("{CONFIG_MAPS}{query}"));
    let request = request
        .header("accept", accept)
        .header("accept-encoding", encoding);
    let response = client.stream(request.body(Full::default())?).await?;
    let code = response.status();
    ensure!(code == 200, "a list returned {code}");
    Ok((client, response.into_body()))
}
