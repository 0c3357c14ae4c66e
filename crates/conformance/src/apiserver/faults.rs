//! `faults apiserver`: each fault leads to the right error, and the server keeps serving.

use std::path::Path;

use anyhow::ensure;
use serde_json::json;

use super::CONFIG_MAPS;
use crate::client::Client;
use crate::faults::Args;
use crate::process::{EmbeddedServer, Options};

mod disk;
mod requests;
mod slow_watcher;

#[derive(Debug, Clone, Copy)]
enum Fault {
    SlowWatcher,
    LargeBody,
    InvalidProtobuf,
    InvalidToken,
    NotTls,
    FullDisk,
    SharedDataDirectory,
}

const FAULTS: &[(&str, Fault)] = &[
    ("watcher that does not read", Fault::SlowWatcher),
    ("body of 100 MB", Fault::LargeBody),
    ("invalid protobuf", Fault::InvalidProtobuf),
    ("invalid token", Fault::InvalidToken),
    ("bytes that are not TLS", Fault::NotTls),
    ("full disk", Fault::FullDisk),
    (
        "two servers on one data directory",
        Fault::SharedDataDirectory,
    ),
];

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let inject = async |fault: Fault, directory: &Path| {
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: false,
        };
        inject(fault, &options).await
    };
    crate::faults::run(args, FAULTS, inject).await
}

async fn inject(fault: Fault, options: &Options) -> anyhow::Result<String> {
    if matches!(fault, Fault::FullDisk) {
        return disk::fill(options).await;
    }
    let mut server = EmbeddedServer::start(options).await?;
    let outcome = match fault {
        Fault::SlowWatcher => slow_watcher::run(&server).await,
        Fault::LargeBody => requests::large_body(&server).await,
        Fault::InvalidProtobuf => requests::invalid_protobuf(&server).await,
        Fault::InvalidToken => requests::invalid_token(&server).await,
        Fault::NotTls => requests::not_tls(&server).await,
        Fault::FullDisk | Fault::SharedDataDirectory => disk::share(options).await,
    };
    check_serving(&server).await?;
    server.kill().await?;
    outcome
}

/// Checks that the server still handles reads and writes.
async fn check_serving(server: &EmbeddedServer) -> anyhow::Result<()> {
    let client = Client::connect(&server.endpoint).await?;
    let object = config_map("after-the-fault", "x");
    let status = client.post(CONFIG_MAPS, object).await?.status();
    ensure!(status == 201, "a create after the fault returned {status}");
    let path = format!("{CONFIG_MAPS}/after-the-fault");
    let status = client.get(&path).await?.status();
    ensure!(status == 200, "a GET after the fault returned {status}");
    Ok(())
}

fn config_map(name: &str, text: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
        .to_string()
}
