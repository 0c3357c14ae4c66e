//! Builds programs of the workspace: the command as users get it, and as tests do.

use std::path::PathBuf;

use crate::process::{command, run};
use crate::tidy;

/// Builds the release binary and tells where it is.
pub(crate) fn release() -> anyhow::Result<PathBuf> {
    build("outrigger", "release", &["--package", "outrigger"])
}

/// The same without optimization: what the tests have built already.
pub(crate) fn debug() -> anyhow::Result<PathBuf> {
    of_workspace("outrigger", "dev")
}

/// A program, built with what the rest of the workspace is built with: libraries are then not built once more.
pub(crate) fn of_workspace(name: &str, profile: &str) -> anyhow::Result<PathBuf> {
    build(name, profile, &["--workspace"])
}

fn build(name: &str, profile: &str, selection: &[&str]) -> anyhow::Result<PathBuf> {
    let root = tidy::root();
    let mut cargo = command(env!("CARGO"), &root);
    cargo.args(["build", "--quiet", "--profile", profile, "--bin", name]);
    run(cargo.args(selection))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join(name))
}
