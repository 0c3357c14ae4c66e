//! Conformance tests, benchmarks, crash tests and attacks: runs the `outrigger` binary next to the programs it
//! must behave like. `cargo xtask` builds this driver and passes its arguments through.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser as _;

mod apiserver;
mod attack;
mod bench;
mod chart;
mod client;
mod crash;
mod flow;
mod hooks;
mod images;
mod install;
mod kubernetes;
mod lab;
mod plugins;
mod process;
mod procfs;
mod stack;

#[derive(Debug, clap::Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    /// The outrigger binary, relative to the root of the workspace. If it is given, no release is built
    #[arg(long, global = true, default_value = "target/release/outrigger")]
    binary: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Compare Outrigger with a real Kubernetes API server and with Helm
    #[command(subcommand)]
    Conformance(Conformance),
    /// Compare `chart template` with both Helm majors on random charts
    Differential(chart::differential::Args),
    /// Benchmark Outrigger against its peers
    #[command(subcommand)]
    Bench(Bench),
    /// Kill a process at random times and check that nothing is lost
    #[command(subcommand)]
    Crash(Crash),
    /// Attack a process with hostile or unlucky input and check that it is bounded and nobody else notices
    #[command(subcommand)]
    Attack(Attack),
}

#[derive(Debug, clap::Subcommand)]
enum Conformance {
    /// Run API cases on a real and on the embedded API server and compare the responses
    Api(apiserver::cases::Args),
    /// Run scripts of kubectl and both Helm majors on both API servers and compare the output
    Clients(apiserver::clients::Args),
    /// Run Kubernetes' own e2e suite on the embedded API server, and on a real one where it fails
    Kubernetes(kubernetes::Args),
    /// Install and uninstall chart archives with Helm 4 and as plugins on a real API server and compare the objects
    Plugins(plugins::compare::Args),
    /// Install a catalogue of KubeGems' plugin charts at once, with stand-ins for the upstream charts
    Catalog(plugins::catalog::Args),
    /// Check that `image list` finds every image that `helm template` shows in chart archives
    Images(images::finder::Args),
    /// Run the conformance suite of the OCI distribution specification on the registry
    Registry(images::suite::Args),
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// `chart template` against `helm template` of both majors: time and memory
    Chart(chart::bench::Args),
    /// `apiserver` against kube-apiserver and etcd: startup, memory, reads, writes, watches
    Apiserver(apiserver::bench::Args),
    /// Plugins against `helm install` of both majors: time, memory, dependency chains, idle plugins
    Plugins(plugins::bench::Args),
    /// Files and hooks on machines against ansible-playbook and OpenSSH: time and memory
    Hooks(hooks::bench::Args),
    /// What `hooks` measures
    #[command(hide = true)]
    HooksRunner(hooks::runner::Args),
    /// `image sync` against skopeo, between registries of Debian and between ours: time, CPU, memory
    Images(images::bench::Args),
    /// Expansion packages with large images: build, verify and load, against unpacking and skopeo; time, memory, disk
    Expansion(install::bench::Args),
    /// `stack render` with many plugins and node pools: time and memory
    Stack(stack::bench::Args),
    /// Clusters on machines of the lab against a script with plain kubeadm and OpenSSH: time until all nodes are ready
    Cluster(lab::bench::Args),
}

#[derive(Debug, clap::Subcommand)]
enum Crash {
    /// The embedded API server, under load
    Apiserver(crash::Args),
    /// The plugin controller, while plugins are created, changed and deleted
    Plugins(crash::Args),
    /// Copies of images and the registry, through proxies with faults
    Images(crash::Args),
    /// Flows of a cluster: controllers are killed and compete, machines lose connections, hang and reboot
    Flow(crash::Args),
    /// The installer, on stand-in machines: hooks, images, a cluster and plugins
    Install(crash::Args),
    /// Clusters on machines of the lab: controllers are killed, machines lose power and network
    Cluster(crash::Args),
}

#[derive(Debug, clap::Subcommand)]
enum Attack {
    /// The embedded API server: numbers, rules, depth, patches, connections, counts, a full disk
    Apiserver(attack::Args),
    /// The chart engine: templates and archives without end
    Chart(attack::Args),
    /// The plugin controller: hostile repositories and specs, neighbors that share and edit, an API server that is down
    Plugins(plugins::attack::Args),
    /// Clients of registries: answers without end, lies, redirects, foreign token services
    Images(attack::Args),
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "errors go to stderr")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match Box::pin(run(&cli.binary, cli.command)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(binary: &Path, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Conformance(Conformance::Api(args)) => apiserver::cases::run(binary, &args).await,
        Command::Conformance(Conformance::Clients(args)) => {
            apiserver::clients::run(binary, &args).await
        }
        Command::Conformance(Conformance::Kubernetes(args)) => kubernetes::run(binary, &args).await,
        Command::Conformance(Conformance::Plugins(args)) => {
            plugins::compare::run(binary, &args).await
        }
        Command::Conformance(Conformance::Catalog(args)) => {
            plugins::catalog::run(binary, &args).await
        }
        Command::Conformance(Conformance::Images(args)) => images::finder::run(binary, &args).await,
        Command::Conformance(Conformance::Registry(args)) => {
            images::suite::run(binary, &args).await
        }
        Command::Differential(args) => chart::differential::run(binary, &args),
        Command::Bench(Bench::Chart(args)) => chart::bench::run(binary, &args),
        Command::Bench(Bench::Apiserver(args)) => apiserver::bench::run(binary, &args).await,
        Command::Bench(Bench::Plugins(args)) => plugins::bench::run(binary, &args).await,
        Command::Bench(Bench::Hooks(args)) => hooks::bench::run(&args).await,
        Command::Bench(Bench::HooksRunner(args)) => hooks::runner::run(&args).await,
        Command::Bench(Bench::Images(args)) => images::bench::run(binary, &args).await,
        Command::Bench(Bench::Expansion(args)) => install::bench::run(binary, &args).await,
        Command::Bench(Bench::Stack(args)) => stack::bench::run(binary, &args),
        Command::Bench(Bench::Cluster(args)) => lab::bench::run(binary, &args).await,
        Command::Crash(Crash::Images(args)) => {
            crash::run::<images::crash::Test>(binary, &args).await
        }
        Command::Crash(Crash::Flow(args)) => crash::run::<flow::crash::Test>(binary, &args).await,
        Command::Crash(Crash::Install(args)) => {
            crash::run::<install::crash::Test>(binary, &args).await
        }
        Command::Crash(Crash::Cluster(args)) => crash::run::<lab::crash::Test>(binary, &args).await,
        Command::Crash(Crash::Apiserver(args)) => {
            crash::run::<apiserver::crash::Test>(binary, &args).await
        }
        Command::Crash(Crash::Plugins(args)) => {
            crash::run::<plugins::crash::Test>(binary, &args).await
        }
        Command::Attack(Attack::Apiserver(args)) => apiserver::attack::run(binary, &args).await,
        Command::Attack(Attack::Chart(args)) => chart::attack::run(binary, &args).await,
        Command::Attack(Attack::Images(args)) => images::attack::run(binary, &args).await,
        Command::Attack(Attack::Plugins(args)) => plugins::attack::run(binary, &args).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
