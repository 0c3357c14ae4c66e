//! Runs the driver of conformance tests, benchmarks, crash tests and fault injection: `crates/conformance`.

use std::ffi::OsString;
use std::process::Command;

use outrigger_peers::lab::{CURRENT, NEXT, Release};
use outrigger_peers::{
    ANSIBLE, DROPBEAR, E2E_TEST, ETCD, HELM3, HELM4, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER, KUBECTL, KWOK, Peer, REGISTRIES, SKOPEO, SSHD,
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

/// Installs missing peers, builds the release binary unless one is given, and runs a command of the driver.
pub(crate) fn run(name: &str, args: &Args) -> anyhow::Result<()> {
    let args = &args.args;
    let is_help = is_help(name, args);
    if !is_help {
        let subcommand = args.first().and_then(|arg| arg.to_str());
        let subcommand = subcommand.unwrap_or_default();
        peers::install(&required_peers(name, subcommand))?;
        required_releases(name, subcommand)
            .iter()
            .try_for_each(|release| peers::install_release(*release))?;
    }
    if is_help || has_binary(args) {
        let driver = build::conformance(Profile::Dev)?;
        return run_command(command(driver, &tidy::root()).arg(name).args(args));
    }
    let programs = build::programs(Profile::Release)?;
    run_command(&mut driver(&programs, name, args))
}

/// Whether the arguments name the binary, so that none is built.
fn has_binary(args: &[OsString]) -> bool {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    args.any(|arg| arg == "--binary" || arg.starts_with("--binary="))
}

/// Whether the driver only prints its help, which needs neither peers nor a release.
fn is_help(name: &str, args: &[OsString]) -> bool {
    let has_subcommands = name != "differential";
    match args.first() {
        None => has_subcommands,
        Some(first) if has_subcommands && first == "help" => true,
        Some(_) => args.iter().any(|arg| arg == "--help" || arg == "-h"),
    }
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

/// The releases of the lab that a command makes clusters of.
fn required_releases(name: &str, subcommand: &str) -> &'static [Release] {
    match (name, subcommand) {
        ("bench", "cluster") => &[CURRENT],
        ("crash", "cluster") => &[CURRENT, NEXT],
        _ => &[],
    }
}

fn required_peers(name: &str, subcommand: &str) -> Vec<Peer> {
    let clients: &[Peer] = match (name, subcommand) {
        ("conformance", "kubernetes") => &[KUBECTL, KWOK, KUBE_SCHEDULER, E2E_TEST],
        ("conformance", "clients") | ("attack", "plugins") => &[KUBECTL, HELM3, HELM4],
        ("conformance", "plugins" | "catalog" | "images") => &[HELM4],
        ("bench", "images") => REGISTRIES,
        ("bench", "expansion") => &[SKOPEO],
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

#[cfg(test)]
mod tests {
    use super::*;

    fn to_args(args: &[&str]) -> Vec<OsString> {
        args.iter().map(Into::into).collect()
    }

    #[test]
    fn a_given_binary_needs_no_release() {
        assert!(has_binary(&to_args(&["plugins", "--binary", "outrigger"])));
        assert!(has_binary(&to_args(&["plugins", "--binary=outrigger"])));
        assert!(!has_binary(&to_args(&["plugins", "--short"])));
    }

    #[test]
    fn help_needs_no_release() {
        let is_help = |name, args: &[&str]| is_help(name, &to_args(args));
        assert!(is_help("attack", &["plugins", "--help"]));
        assert!(is_help("attack", &["plugins", "--short", "-h"]));
        assert!(is_help("attack", &["help", "plugins"]));
        assert!(is_help("attack", &[]));
        assert!(is_help("differential", &["--help"]));
        assert!(!is_help("differential", &[]));
        assert!(!is_help("attack", &["plugins", "--server", "real"]));
    }
}
