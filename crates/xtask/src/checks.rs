//! What `make lint` and `make e2e` run.

use std::path::Path;
use std::thread;

use anyhow::bail;
use outrigger_testing::peers::{self, Peer};

use crate::process::{command, run};
use crate::{conformance, peers as install, tidy};

#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Only tests whose name has this in it
    filter: Option<String>,
}

/// Everything that can be said about the code without running it.
pub(crate) fn lint() -> anyhow::Result<()> {
    let root = tidy::root();
    tidy::run()?;
    cargo(&root, &["fmt", "--all", "--check"])?;
    cargo(
        &root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    )?;
    install::install(&[peers::CARGO_MACHETE, peers::CARGO_DENY])?;
    run(command(peers::CARGO_MACHETE.installed()?, &root).arg("."))?;
    // Advisories need the advisory database from the network; `cargo deny check` looks at them too.
    let deny = [
        "deny",
        "--log-level",
        "error",
        "check",
        "bans",
        "licenses",
        "sources",
    ];
    run(command(peers::CARGO_DENY.installed()?, &root).args(deny))
}

/// The tests that talk to real programs, then both API servers side by side.
pub(crate) fn e2e(args: &E2eArgs) -> anyhow::Result<()> {
    const NEEDED: &[Peer] = &[
        peers::HELM3,
        peers::ETCD,
        peers::HELM4,
        peers::KUBECTL,
        peers::KUBE_APISERVER,
        peers::KUBE_CONTROLLER_MANAGER,
    ];
    install::install(NEEDED)?;
    let mut test = vec!["test", "--workspace", "--test", "e2e", "--"];
    test.extend(args.filter.as_deref());
    let tests = || cargo(&tidy::root(), &test);
    if args.filter.is_some() {
        return tests();
    }
    // They wait for servers much of the time, so all go at once.
    thread::scope(|scope| {
        let others = ["api", "clients"];
        let others = others.map(|name| scope.spawn(move || conformance::of_tests(name)));
        let mut result = tests();
        for other in others {
            let ended = other.join();
            let ended = ended.unwrap_or_else(|_| bail!("the thread of a proof died"));
            result = result.and(ended);
        }
        result
    })
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    run(command(env!("CARGO"), root).args(args))
}
