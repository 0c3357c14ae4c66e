//! `cargo xtask`: the tasks behind the Makefile.

use std::process::ExitCode;

use clap::Parser as _;

mod bench;
mod binary;
mod checks;
mod conformance;
mod differential;
mod fuzz;
mod generate;
mod peers;
mod process;
mod proof;
mod tidy;
mod trials;

/// Tasks of developers and of continuous integration.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Install pinned real peers (helm, etcd, kube-apiserver, ...) into the user's cache folder
    Peers(peers::Args),
    /// Check formatting, lints, licenses, unused dependencies, documentation and the house rules
    Lint,
    /// Check the house rules: layers, file headers, file names and sizes, README's commands
    Tidy,
    /// Run the tests that need real peers, after installing what is missing
    E2e(checks::E2eArgs),
    /// Compare with real Helm on random charts
    Differential(differential::Args),
    /// Let a fuzz target look for trouble
    Fuzz(fuzz::Args),
    #[command(subcommand)]
    Conformance(conformance::Conformance),
    /// Kill a program under load, again and again, and look for what it lost
    #[command(subcommand)]
    Crash(Crash),
    /// Put a program into trouble and see how it takes it
    #[command(subcommand)]
    Faults(Faults),
    #[command(subcommand)]
    Bench(bench::Bench),
    #[command(subcommand, name = "gen")]
    Generate(generate::Generate),
}

/// What to kill.
#[derive(Debug, clap::Subcommand)]
enum Crash {
    /// The embedded Kubernetes API
    Apiserver(proof::Rest),
    /// The controller of plugins
    Plugins(proof::Rest),
}

/// What to put into trouble.
#[derive(Debug, clap::Subcommand)]
enum Faults {
    /// The embedded Kubernetes API
    Apiserver(proof::Rest),
    /// The controller of plugins
    Plugins(proof::Rest),
}

#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Peers(args) => peers::run(&args),
        Task::Lint => checks::lint(),
        Task::Tidy => tidy::run(),
        Task::E2e(args) => checks::e2e(&args),
        Task::Differential(args) => differential::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Conformance(task) => conformance::conformance(&task),
        Task::Crash(Crash::Apiserver(rest)) => conformance::crash(&rest),
        Task::Crash(Crash::Plugins(rest)) => trials::crash(&rest),
        Task::Faults(Faults::Apiserver(rest)) => conformance::faults(&rest),
        Task::Faults(Faults::Plugins(rest)) => trials::faults(&rest),
        Task::Bench(bench) => bench::run(&bench),
        Task::Generate(generate) => generate::run(&generate),
    }
}
