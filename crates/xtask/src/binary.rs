//! The command as users get it, and as tests build it.

use std::path::PathBuf;

use crate::process::{command, run};
use crate::tidy;

/// Builds the release binary and tells where it is.
pub(crate) fn release() -> anyhow::Result<PathBuf> {
    build("release", "release")
}

/// The same without optimization: what the tests have built already.
pub(crate) fn debug() -> anyhow::Result<PathBuf> {
    build("dev", "debug")
}

fn build(profile: &str, folder: &str) -> anyhow::Result<PathBuf> {
    let root = tidy::root();
    run(command(env!("CARGO"), &root).args([
        "build",
        "--quiet",
        "--profile",
        profile,
        "--package",
        "outrigger",
    ]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join(folder).join("outrigger"))
}
