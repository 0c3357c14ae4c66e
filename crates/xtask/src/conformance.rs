//! Runs the driver of conformance tests, benchmarks, crash tests and fault injection: `crates/conformance`.

use std::ffi::OsString;
use std::process::Command;

use outrigger_peers::{
    ANSIBLE, DROPBEAR, E2E_TEST, ETCD, HELM3, HELM4, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER, KUBECTL, KWOK, Peer, REGISTRIES, SSHD,
};

use crate::build::{self, Profile, Programs};
use crate::process::{command, run as run_command, run_captured as run_command_captured};
use crate::{peers, tidy};

/// A command of the driver and its arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Arguments of the driver; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Installs missing peers, builds the release binary and runs a command of the driver.
pub(crate) fn run(name: &str, args: &Args) -> anyhow::Result<()> {
    let subcommand = args.args.first().and_then(|arg| arg.to_str());
    peers::install(&required_peers(name, subcommand.unwrap_or_default()))?;
    let programs = build::programs(Profile::Release)?;
    run_command(&mut driver(&programs, name, &args.args))
}

/// Runs a command of the driver on the binary that the tests use, and prints the output at the end.
pub(crate) fn run_captured(programs: &Programs, name: &str, args: &[&str]) -> anyhow::Result<()> {
    let args: Vec<OsString> = args.iter().map(Into::into).collect();
    run_command_captured(&mut driver(programs, name, &args))
}

fn driver(programs: &Programs, name: &str, args: &[OsString]) -> Command {
    let mut driver = command(&programs.conformance, &tidy::root());
    driver.arg("--binary").arg(&programs.outrigger);
    driver.arg(name).args(args);
    driver
}

fn required_peers(name: &str, subcommand: &str) -> Vec<Peer> {
    let clients: &[Peer] = match (name, subcommand) {
        ("conformance", "kubernetes") => &[KUBECTL, KWOK, KUBE_SCHEDULER, E2E_TEST],
        ("conformance", "clients") | ("attack", "plugins") => &[KUBECTL, HELM3, HELM4],
        ("conformance", "plugins" | "catalog" | "images") => &[HELM4],
        ("bench", "images") => REGISTRIES,
        ("bench", "hooks") => &[SSHD, DROPBEAR, ANSIBLE],
        ("crash", "flow") => &[SSHD, DROPBEAR],
        ("differential", _) | ("bench", "chart" | "plugins") => &[HELM3, HELM4],
        _ => &[],
    };
    let servers: &[Peer] = match (name, subcommand) {
        ("conformance", "registry" | "images") => &[],
        ("conformance", _) | ("bench", "apiserver" | "plugins") | ("attack", "plugins") => {
            &[ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER]
        }
        _ => &[],
    };
    [servers, clients].concat()
}
