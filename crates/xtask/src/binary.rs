//! The command as users get it.

use std::path::PathBuf;

use crate::process::{command, run};
use crate::tidy;

/// Builds the release binary and tells where it is.
pub(crate) fn release() -> anyhow::Result<PathBuf> {
    let root = tidy::root();
    run(command(env!("CARGO"), &root).args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "outrigger",
    ]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release").join("outrigger"))
}
