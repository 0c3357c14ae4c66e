//! The proof that the embedded Kubernetes API behaves like a real one. `cargo xtask conformance` starts it.

use std::process::ExitCode;

use clap::Parser as _;

mod api;
mod bench;
mod case;
mod client;
mod clients;
mod compare;
mod crash;
mod differences;
mod embedded;
mod endpoint;
mod events;
mod faults;
mod mask;
mod order;
mod place;
mod report;
mod run;

#[derive(Debug, clap::Parser)]
#[command(name = "conformance")]
enum Proof {
    /// API cases on both servers, their answers compared
    Api(api::Args),
    /// Start, memory, reads, writes and watches of both servers
    Bench(bench::Args),
    /// Kill the embedded server under load and look for what it lost
    Crash(crash::Args),
    /// kubectl and both Helm majors on both servers
    Clients(clients::Args),
    /// Put the embedded server into trouble
    Faults(faults::Args),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "what goes wrong is told on stderr")]
async fn main() -> ExitCode {
    let result = match Proof::parse() {
        Proof::Api(args) => Box::pin(api::run(&args)).await,
        Proof::Bench(args) => Box::pin(bench::run(&args)).await,
        Proof::Crash(args) => Box::pin(crash::run(&args)).await,
        Proof::Clients(args) => Box::pin(clients::run(&args)).await,
        Proof::Faults(args) => Box::pin(faults::run(&args)).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
