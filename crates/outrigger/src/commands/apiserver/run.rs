//! Runs the server until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_apiserver::auth::StaticTokens;
use outrigger_apiserver::server::{Options, Server};
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use outrigger_simulate as simulate;
use tokio::signal::unix::{SignalKind, signal};

use crate::printer::Printer;
use crate::report::{HintExt as _, note};

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Keep everything in this folder, which is made if it is not there
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "in_memory",
        conflicts_with = "in_memory"
    )]
    data: Option<PathBuf>,
    /// Keep nothing: everything is gone when the server ends
    #[arg(long)]
    in_memory: bool,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
    /// Write a kubeconfig with the admin token to this file
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Know users by the tokens of this file: lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Let workloads become ready, or fail if they ask for it, though nothing runs
    #[arg(long)]
    simulate_workloads: bool,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(serve(args, printer))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let mut options = match &args.data {
        Some(folder) => Options::in_folder(folder),
        None => Options::in_memory(),
    };
    if let Some(path) = &args.token_file {
        let text = fs_err::read_to_string(path)?;
        options.tokens = StaticTokens::parse(&text)
            .with_context(|| format!("failed to read {}", path.display()))?;
    }
    let listener = Listener::bind(args.listen, args.allow_remote)
        .await
        .hint("--allow-remote lets other machines in; whoever has the token can do everything")?;
    let mut terminated = signal(SignalKind::terminate()).context("failed to wait for signals")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("failed to wait for signals")?;
    let server = Server::open(options)
        .await
        .context("failed to open the API server")?;
    let address = listener.address();
    server.serve(listener)?;
    server.run_controllers();
    if args.simulate_workloads {
        simulate::start(&server, simulate::Options::default());
    }
    if let Some(path) = &args.kubeconfig {
        write_kubeconfig(path, address, server.credentials())?;
    }
    printer.line(&format!("https://{address}"))?;
    tell(args);
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    server.close().await;
    Ok(())
}

/// Says what to do next. The address alone is on stdout, for scripts.
fn tell(args: &Args) {
    match &args.kubeconfig {
        Some(path) => note(&format!(
            "ready; try: kubectl --kubeconfig {} get namespaces",
            path.display()
        )),
        None => note("ready; --kubeconfig FILE writes what clients need"),
    }
    if args.simulate_workloads {
        note("workloads are simulated: they become ready, but nothing runs");
    }
}
