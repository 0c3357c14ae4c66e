//! `outrigger machine stand-in`: the SSH server of a stand-in machine, which `outrigger up` starts.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_node::Secret;
use outrigger_node::stand_in::Server;

use crate::printer::Printer;

/// The files of the server in its folder.
pub(crate) const SEED: &str = "seed";
pub(crate) const PASSWORD: &str = "password";
/// Printed when the server accepts connections.
pub(crate) const READY: &str = "ready";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address to listen on
    #[arg(long)]
    listen: SocketAddr,
    /// Folder with the seed of the host key and the password
    #[arg(long)]
    folder: PathBuf,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let seed = fs_err::read(args.folder.join(SEED))?;
    let seed: [u8; 32] = seed.as_slice().try_into().context("the seed is invalid")?;
    let password = fs_err::read_to_string(args.folder.join(PASSWORD))?;
    let server = Server::bind(args.listen, &seed, Secret::new(password)).await;
    let server = server.with_context(|| format!("failed to listen on {}", args.listen))?;
    printer.line(READY)?;
    // The machine ends with the process that started it, however that ends.
    let stdin =
        tokio::task::spawn_blocking(|| std::io::stdin().lock().read_to_end(&mut Vec::new()));
    tokio::select! {
        never = server.serve() => never,
        _ = stdin => {}
    }
    Ok(ExitCode::SUCCESS)
}
