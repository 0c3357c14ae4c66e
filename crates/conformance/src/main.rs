//! The proof that the embedded Kubernetes API behaves like a real one. `cargo xtask conformance` starts it.

use std::process::ExitCode;

use clap::Parser as _;

mod api;
mod case;
mod client;
mod compare;
mod differences;
mod embedded;
mod endpoint;
mod events;
mod mask;
mod order;
mod place;
mod report;
mod run;
mod yaml;

#[derive(Debug, clap::Parser)]
#[command(name = "conformance")]
enum Proof {
    /// API cases on both servers, their answers compared
    Api(api::Args),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "what goes wrong is told on stderr")]
async fn main() -> ExitCode {
    let result = match Proof::parse() {
        Proof::Api(args) => Box::pin(api::run(&args)).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
