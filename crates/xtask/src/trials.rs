//! `cargo xtask bench plugins` and its like: plugins put to the test by the crate `outrigger-trials`.

use outrigger_testing::peers;

use crate::conformance::SERVERS;
use crate::proof::{self, Rest};
use crate::{binary, peers as install};

/// `cargo xtask bench plugins`: beside both Helms on a real Kubernetes API.
pub(crate) fn bench(rest: &Rest) -> anyhow::Result<()> {
    install::install(SERVERS)?;
    install::install(&[peers::HELM3, peers::HELM4])?;
    prove("bench", "proof", rest)
}

/// `cargo xtask crash plugins`.
pub(crate) fn crash(rest: &Rest) -> anyhow::Result<()> {
    prove("crash", "dev", rest)
}

/// `cargo xtask faults plugins`.
pub(crate) fn faults(rest: &Rest) -> anyhow::Result<()> {
    prove("faults", "dev", rest)
}

/// `cargo xtask conformance plugins`: real charts beside Helm.
pub(crate) fn corpus(rest: &Rest) -> anyhow::Result<()> {
    install::install(SERVERS)?;
    install::install(&[peers::HELM4])?;
    prove("corpus", "dev", rest)
}

fn prove(name: &str, profile: &str, rest: &Rest) -> anyhow::Result<()> {
    let binary = binary::release()?;
    proof::run("outrigger-trials", name, Some(&binary), profile, &rest.args)
}
