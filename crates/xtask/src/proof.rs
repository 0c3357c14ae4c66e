//! Runs a proof: a crate of the workspace that puts the binary to the test.

use std::ffi::OsString;
use std::path::Path;

use crate::process::{command, run as run_command};
use crate::tidy;

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
    let mut cargo = command(env!("CARGO"), &tidy::root());
    cargo
        .args(["run", "--quiet", "--profile", profile, "--package", package])
        .args(["--", name]);
    if let Some(binary) = binary {
        cargo.arg("--binary").arg(binary);
    }
    run_command(cargo.args(args))
}
