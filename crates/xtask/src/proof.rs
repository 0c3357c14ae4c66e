//! Runs a proof: a crate of the workspace that puts the binary to the test.

use std::ffi::OsString;
use std::path::Path;

use crate::process::{command, run as run_command, run_quietly as run_command_quietly};
use crate::{binary, tidy};

/// Arguments that are passed on.
#[derive(Debug, clap::Args)]
pub(crate) struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// Builds the crate in a profile and runs one of its commands on the binary.
pub(crate) fn run(
    package: &str,
    name: &str,
    binary: Option<&Path>,
    profile: &str,
    args: &[OsString],
) -> anyhow::Result<()> {
    let mut proof = command(binary::of_workspace(package, profile)?, &tidy::root());
    proof.arg(name);
    if let Some(binary) = binary {
        proof.arg("--binary").arg(binary);
    }
    run_command(proof.args(args))
}

/// The same without optimization and beside something else: what it prints is shown when it has ended.
pub(crate) fn run_quietly(package: &str, name: &str, binary: &Path) -> anyhow::Result<()> {
    let mut proof = command(binary::of_workspace(package, "dev")?, &tidy::root());
    run_command_quietly(proof.arg(name).arg("--binary").arg(binary))
}
