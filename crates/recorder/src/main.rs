//! Records what a real Kubernetes API answers. `cargo xtask gen kubernetes` starts it.
//!
//! A recording is a committed file of requests and answers. The recorder reads the requests from the file, sends them
//! to a server that was started for this recording alone, and writes the file with the new answers. Values that
//! differ between runs (uids, times, resource versions, allocated addresses) are replaced by constants, so that the
//! same server gives the same bytes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser as _;

mod builtin;
mod discovery;
mod failures;
mod file;
mod mask;
mod resources;
mod server;
mod structural;

use file::Files;

#[derive(Debug, clap::Parser)]
#[command(name = "outrigger-recorder")]
struct Args {
    /// The root of the repository, from which recordings are read
    #[arg(long)]
    root: PathBuf,
    /// The folder to which recordings are written, below the same relative paths
    #[arg(long)]
    output: PathBuf,
    /// Record only files whose path contains this text
    #[arg(long, default_value = "")]
    only: String,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "errors go to stderr")]
async fn main() -> ExitCode {
    match Box::pin(record(Args::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn record(args: Args) -> anyhow::Result<()> {
    mask::start();
    let files = Files::new(args.root, args.output, args.only);
    failures::record(&files).await?;
    discovery::record(&files).await?;
    builtin::record(&files).await?;
    structural::record(&files).await
}
