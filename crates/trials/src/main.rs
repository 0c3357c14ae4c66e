//! The proof that plugins keep their promises. `cargo xtask bench plugins` and its like start it.

use std::process::ExitCode;

use clap::Parser as _;

mod bench;
mod chart;
mod corpus;
mod crash;
mod expected;
mod faults;
mod fleet;
mod process;
mod simulated;
mod snapshot;
mod usage;
mod verdict;

#[derive(Debug, clap::Parser)]
#[command(name = "trials")]
enum Trial {
    /// Many plugins beside Helm, a long chain, and nothing to do
    Bench(bench::Args),
    /// Kill the controller while plugins come, change and go
    Crash(crash::Args),
    /// The API server goes away, or does not answer, in the middle of the work
    Faults(faults::Args),
    /// Real charts, installed and removed beside Helm
    Corpus(corpus::Args),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "what goes wrong is told on stderr")]
async fn main() -> ExitCode {
    let result = match Trial::parse() {
        Trial::Bench(args) => Box::pin(bench::run(&args)).await,
        Trial::Crash(args) => Box::pin(crash::run(&args)).await,
        Trial::Faults(args) => Box::pin(faults::run(&args)).await,
        Trial::Corpus(args) => Box::pin(corpus::run(&args)).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
