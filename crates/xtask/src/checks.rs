//! `cargo xtask lint` and `cargo xtask e2e`.

use std::path::Path;
use std::thread;

use anyhow::bail;
use outrigger_peers::{self as peers, Peer};

use crate::build::{self, Profile};
use crate::process::{command, run};
use crate::{advisories, conformance, peers as install, tidy};

#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Only tests whose name contains this text
    filter: Option<String>,
    /// Also tests that take minutes
    #[arg(long)]
    slow: bool,
}

/// The arguments of clippy.
pub(crate) const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets"];

/// The arguments of the tests that need peers.
pub(crate) const E2E: &[&str] = &["test", "--workspace", "--test", "e2e"];

/// Builds the example of an operator, which a test puts into a package.
const OPERATOR: &[&str] = &["build", "--workspace", "--example", "network_operator"];

/// All static checks.
pub(crate) fn lint() -> anyhow::Result<()> {
    let root = tidy::root();
    tidy::run()?;
    cargo(&root, &["fmt", "--all", "--check"])?;
    cargo(
        &root,
        &[CLIPPY, &["--quiet", "--", "-D", "warnings"]].concat(),
    )?;
    install::install(&[peers::CARGO_MACHETE, peers::CARGO_DENY])?;
    run(command(peers::CARGO_MACHETE.installed()?, &root).arg("."))?;
    let mut deny = command(peers::CARGO_DENY.installed()?, &root);
    deny.args(["deny", "--log-level", "error", "check"]);
    run(deny.args(["bans", "licenses", "sources"]))?;
    advisories::check(&root)
}

/// Runs the tests that need peers, the conformance tests of the API server, and the short attacks.
pub(crate) fn e2e(args: &E2eArgs) -> anyhow::Result<()> {
    // An unoptimized build beside other tests is slower than the promise to users.
    const PATIENCE: &str = "--patience=10";
    const PEERS: &[Peer] = &[
        peers::HELM3,
        peers::ETCD,
        peers::HELM4,
        peers::KUBECTL,
        peers::KUBE_APISERVER,
        peers::KUBE_CONTROLLER_MANAGER,
    ];
    install::install(&[PEERS, peers::REGISTRIES].concat())?;
    // Some tests run them.
    build::outrigger(Profile::Dev)?;
    cargo(&tidy::root(), OPERATOR)?;
    let tests = || {
        let filter: Vec<&str> = args.filter.as_deref().into_iter().collect();
        let slow: &[&str] = if args.slow {
            &["--include-ignored"]
        } else {
            &[]
        };
        cargo(&tidy::root(), &[E2E, &["--"], slow, &filter].concat())
    };
    if args.filter.is_some() {
        return tests();
    }
    let programs = build::programs(Profile::Dev)?;
    // They wait for servers much of the time, so they run concurrently.
    thread::scope(|scope| {
        let programs = &programs;
        let others = [
            ("conformance", &["api"][..]),
            ("conformance", &["clients"]),
            ("attack", &["plugins", "--short", PATIENCE]),
            ("attack", &["apiserver", "--short", PATIENCE]),
            ("attack", &["chart", "--short", PATIENCE]),
        ]
        .map(|(name, args)| scope.spawn(move || conformance::run_captured(programs, name, args)));
        let mut result = tests();
        for other in others {
            let other = other.join();
            let other = other.unwrap_or_else(|_| bail!("a conformance thread panicked"));
            result = result.and(other);
        }
        result
    })
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    run(command(env!("CARGO"), root).args(args))
}
