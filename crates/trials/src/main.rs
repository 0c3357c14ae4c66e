//! The proof that plugins keep their promises. `cargo xtask bench plugins` and its like start it.

use std::process::ExitCode;

use clap::Parser as _;

mod bench;
mod chart;
mod crash;
mod fleet;
mod process;
mod usage;
mod verdict;

#[derive(Debug, clap::Parser)]
#[command(name = "trials")]
enum Trial {
    /// Many plugins beside Helm, a long chain, and nothing to do
    Bench(bench::Args),
    /// Kill the controller while plugins come, change and go
    Crash(crash::Args),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "what goes wrong is told on stderr")]
async fn main() -> ExitCode {
    let result = match Trial::parse() {
        Trial::Bench(args) => Box::pin(bench::run(&args)).await,
        Trial::Crash(args) => Box::pin(crash::run(&args)).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
