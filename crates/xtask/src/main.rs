//! `cargo xtask`: the tasks behind the Makefile.

use std::process::ExitCode;

use clap::Parser as _;

mod advisories;
mod build;
mod checks;
mod conformance;
mod dist;
mod fuzz;
mod generate;
mod peers;
mod process;
mod tidy;

/// Tasks of developers and of continuous integration.
#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Install the pinned peers (helm, etcd, kube-apiserver, ...) into the user's cache directory
    Peers(peers::Args),
    /// Check formatting, lints, licenses, unused dependencies and the house rules
    Lint,
    /// Check the house rules: layers, file headers, file names and sizes, the README's commands
    Tidy,
    /// Run the tests that need peers, after installing missing ones
    E2e(checks::E2eArgs),
    /// Compare Outrigger with a real Kubernetes API server and with Helm: api, clients, plugins
    #[command(disable_help_flag = true)]
    Conformance(conformance::Args),
    /// Compare `chart template` with both Helm majors on random charts
    #[command(disable_help_flag = true)]
    Differential(conformance::Args),
    /// Benchmark Outrigger against its peers: chart, apiserver, plugins
    #[command(disable_help_flag = true)]
    Bench(conformance::Args),
    /// Kill a process at random times and check that nothing is lost: apiserver, plugins
    #[command(disable_help_flag = true)]
    Crash(conformance::Args),
    /// Attack a process and check that it is bounded and nobody else notices: apiserver, chart, plugins
    #[command(disable_help_flag = true)]
    Attack(conformance::Args),
    /// Build what is distributed: a static binary, completions, an OCI image layout, checksums
    Dist(dist::Args),
    /// Run fuzz targets
    Fuzz(fuzz::Args),
    #[command(subcommand, name = "gen")]
    Generate(generate::Generate),
}

#[expect(clippy::print_stderr, reason = "errors go to stderr")]
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
        Task::Conformance(args) => conformance::run("conformance", &args),
        Task::Differential(args) => conformance::run("differential", &args),
        Task::Bench(args) => conformance::run("bench", &args),
        Task::Crash(args) => conformance::run("crash", &args),
        Task::Attack(args) => conformance::run("attack", &args),
        Task::Dist(args) => dist::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Generate(generate) => generate::run(&generate),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Task::command().debug_assert();
    }
}
