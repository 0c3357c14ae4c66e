//! `conformance faults`: trouble of each kind ends in the right error, and the server goes on.
#![expect(clippy::print_stdout, reason = "the outcome is this program's result")]

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::client::Client;
use crate::embedded::{Embedded, Options};

mod disk;
mod requests;
mod slow_watcher;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The outrigger binary
    #[arg(long)]
    binary: PathBuf,
    /// Only faults whose name has this in it
    #[arg(long, default_value = "")]
    fault: String,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut failed = 0;
    for name in FAULTS.iter().filter(|name| name.contains(&args.fault)) {
        let options = options(args, scratch.path(), name);
        match fault(name, &options).await {
            Ok(outcome) => println!("ok      {name}: {outcome}"),
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:#}");
            }
        }
    }
    if failed > 0 {
        bail!("{failed} faults are not taken as they should be");
    }
    Ok(())
}

const FAULTS: &[&str] = &[
    "a watcher that does not read",
    "a body of 100 MB",
    "garbage as protobuf",
    "a wrong token",
    "bytes that are not TLS",
    "a full disk",
    "two servers on one folder",
];

async fn fault(name: &str, options: &Options) -> anyhow::Result<String> {
    match name {
        "a full disk" => return disk::full(options).await,
        "two servers on one folder" => return disk::shared(options).await,
        _ => {}
    }
    let server = Embedded::start(options).await?;
    let outcome = match name {
        "a watcher that does not read" => slow_watcher::run(&server).await,
        "a body of 100 MB" => requests::large(&server).await,
        "garbage as protobuf" => requests::protobuf(&server).await,
        "a wrong token" => requests::token(&server).await,
        _ => requests::not_tls(&server).await,
    };
    goes_on(&server).await?;
    server.kill().await?;
    outcome
}

fn options(args: &Args, scratch: &Path, name: &str) -> Options {
    Options {
        binary: args.binary.clone(),
        data: scratch.join(name.replace(' ', "-")),
        simulate_workloads: false,
    }
}

/// The server still reads and writes for those who come after.
async fn goes_on(server: &Embedded) -> anyhow::Result<()> {
    let client = Client::connect(&server.endpoint).await?;
    let object = requests::config_map("after-the-fault", "x");
    let answer = client.post(requests::PATH, object).await?;
    anyhow::ensure!(
        answer.status == 201,
        "afterwards a create answers {}",
        answer.status
    );
    let answer = client
        .get(&format!("{}/after-the-fault", requests::PATH))
        .await?;
    anyhow::ensure!(
        answer.status == 200,
        "afterwards a GET answers {}",
        answer.status
    );
    Ok(())
}
