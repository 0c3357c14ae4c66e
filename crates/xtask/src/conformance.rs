//! `cargo xtask conformance`: the embedded API beside a real one, plugins beside Helm.
//!
//! The work is done by the crate `outrigger-conformance`; this gets the peers and the binary ready for it.

use std::ffi::OsString;
use std::path::Path;

use outrigger_testing::peers::{self, Peer};

use crate::proof::{self, Rest};
use crate::{binary, peers as install, trials};

/// What a real Kubernetes API is made of.
pub(crate) const SERVERS: &[Peer] = &[
    peers::ETCD,
    peers::KUBE_APISERVER,
    peers::KUBE_CONTROLLER_MANAGER,
];
const CLIENTS: &[Peer] = &[peers::KUBECTL, peers::HELM3, peers::HELM4];

/// Compare with the real thing: a Kubernetes API, or Helm
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Conformance {
    /// API cases on both servers, their answers compared
    Api(ApiArgs),
    /// kubectl and both Helm majors on both servers
    Clients(Rest),
    /// The charts of a folder, installed and removed through plugins and by Helm 4 on a real server
    Plugins(Rest),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApiArgs {
    /// Only cases whose name or topic has this in it
    #[arg(long)]
    case: Option<String>,
    /// `real` compares a real server with a second real one
    #[arg(long)]
    only: Option<String>,
    /// Prints the answers of the real server
    #[arg(long)]
    show: bool,
}

/// `api` or `clients` on the binary that the tests have built already. What it prints is shown when it is done.
pub(crate) fn of_tests(name: &str) -> anyhow::Result<()> {
    proof::run_quietly("outrigger-conformance", name, &binary::debug()?)
}

pub(crate) fn conformance(task: &Conformance) -> anyhow::Result<()> {
    install::install(SERVERS)?;
    match task {
        Conformance::Api(args) => {
            let mut words: Vec<OsString> = Vec::new();
            let options = [("--case", &args.case), ("--only", &args.only)];
            for (name, value) in options {
                words.extend(value.iter().flat_map(|value| [name.into(), value.into()]));
            }
            words.extend(args.show.then(|| "--show".into()));
            let binary = match args.only {
                None => Some(binary::release()?),
                Some(_) => None,
            };
            prove("api", binary.as_deref(), "dev", &words)
        }
        Conformance::Clients(rest) => {
            install::install(CLIENTS)?;
            prove("clients", Some(&binary::release()?), "dev", &rest.args)
        }
        Conformance::Plugins(rest) => trials::corpus(rest),
    }
}

/// `cargo xtask bench apiserver`: both servers in one run.
pub(crate) fn bench(rest: &Rest) -> anyhow::Result<()> {
    install::install(SERVERS)?;
    prove("bench", Some(&binary::release()?), "proof", &rest.args)
}

/// `cargo xtask crash apiserver`.
pub(crate) fn crash(rest: &Rest) -> anyhow::Result<()> {
    prove("crash", Some(&binary::release()?), "dev", &rest.args)
}

/// `cargo xtask faults apiserver`.
pub(crate) fn faults(rest: &Rest) -> anyhow::Result<()> {
    prove("faults", Some(&binary::release()?), "dev", &rest.args)
}

fn prove(
    name: &str,
    binary: Option<&Path>,
    profile: &str,
    args: &[OsString],
) -> anyhow::Result<()> {
    proof::run("outrigger-conformance", name, binary, profile, args)
}
