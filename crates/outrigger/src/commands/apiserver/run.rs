//! Runs the server until SIGTERM or SIGINT.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_apiserver::auth::StaticTokens;
use outrigger_apiserver::server::Options;
use outrigger_simulate as simulate;

use crate::commands::listen::{self, parse_address};
use crate::commands::runtime::{self, shutdown_signal};
use crate::commands::{embedded_server, kubeconfig_file};
use crate::input_file;
use crate::printer::Printer;
use crate::report::note;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Data folder, created if it does not exist
    #[arg(long, value_name = "DIR", group = "storage")]
    data: Option<PathBuf>,
    /// Keep all objects in memory only
    #[arg(long, group = "storage")]
    in_memory: bool,
    /// Address to listen on; port 0 selects a free port, if possible that of the last server on the data folder
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,
    /// Allow an address that is reachable from other machines
    #[arg(long)]
    allow_remote: bool,
    /// Add the server to this kubeconfig, with the admin token; other clusters in it are kept
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Static token file for authentication: lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Simulate workloads: pods become ready without running
    #[arg(long)]
    simulate_workloads: bool,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    runtime::run(serve(args, printer))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let mut options = match &args.data {
        Some(folder) => Options::in_folder(folder),
        None => Options::in_memory(),
    };
    if let Some(path) = &args.token_file {
        let text = input_file::read_text(path)?;
        options.tokens = StaticTokens::parse(&text)
            .with_context(|| format!("failed to read {}", path.display()))?;
    }
    let listener = listen::bind(args.listen, args.allow_remote, args.data.as_deref()).await?;
    let shutdown = shutdown_signal(None)?;
    let server = embedded_server::open(options).await?;
    let address = listener.address();
    server.serve(listener);
    server.run_controllers();
    if args.simulate_workloads {
        simulate::start(&server, simulate::Options::default());
    }
    if let Some(folder) = &args.data {
        // For `apiserver backup`, and for whoever may read the folder.
        kubeconfig_file::write(&folder.join("kubeconfig"), address, &server)?;
    }
    let flags = match &args.kubeconfig {
        Some(path) => {
            let written = kubeconfig_file::write(path, address, &server)?;
            Some(kubeconfig_file::kubectl_flags(path, &written))
        }
        None => None,
    };
    printer.line(&format!("https://{address}"))?;
    print_next_steps(flags.as_deref(), args.simulate_workloads);
    shutdown.await;
    server.close().await;
    Ok(())
}

/// On stderr: stdout has only the address, for scripts.
fn print_next_steps(kubectl_flags: Option<&str>, is_simulated: bool) {
    match kubectl_flags {
        Some(flags) => note(&format!("ready; try: kubectl {flags} get namespaces")),
        None => note("ready; use --kubeconfig FILE to write a kubeconfig for clients"),
    }
    if is_simulated {
        note("workloads are simulated: pods become ready, but no containers run");
    } else {
        note("there are no nodes, and nothing runs workloads; --simulate-workloads simulates both");
    }
}
