//! Builds the programs of the workspace that tasks run.

use std::path::{Path, PathBuf};

use crate::process::{command, run};
use crate::tidy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Shared with `cargo test`.
    Dev,
    /// Shared with `cargo build --release`.
    Release,
}

/// The paths of the built programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) outrigger: PathBuf,
    /// The driver of conformance tests and benchmarks.
    pub(crate) conformance: PathBuf,
}

/// The arguments of the build. `tidy::builds` checks that it shares all libraries with the builds of users and tests.
pub(crate) fn cargo_args(profile: Profile) -> Vec<&'static str> {
    let mut args = vec!["build", "--workspace"];
    args.extend(["--bin", "outrigger", "--bin", "outrigger-conformance"]);
    if profile == Profile::Release {
        args.push("--release");
    }
    args
}

pub(crate) fn programs(profile: Profile) -> anyhow::Result<Programs> {
    let directory = build(&cargo_args(profile), profile)?;
    Ok(Programs {
        outrigger: directory.join("outrigger"),
        conformance: directory.join("outrigger-conformance"),
    })
}

/// Builds the program of users.
pub(crate) fn outrigger(profile: Profile) -> anyhow::Result<PathBuf> {
    program("outrigger", profile)
}

/// Builds the driver of conformance tests and benchmarks.
pub(crate) fn conformance(profile: Profile) -> anyhow::Result<PathBuf> {
    program("outrigger-conformance", profile)
}

fn program(name: &str, profile: Profile) -> anyhow::Result<PathBuf> {
    let mut args = vec!["build", "--workspace", "--bin", name];
    if profile == Profile::Release {
        args.push("--release");
    }
    Ok(build(&args, profile)?.join(name))
}

/// Builds a static program of users, for a target whose C compiler is musl-gcc.
pub(crate) fn static_release(target: &str) -> anyhow::Result<PathBuf> {
    let root = tidy::root();
    let mut cargo = command(env!("CARGO"), &root);
    let compiler = format!("CC_{}", target.replace('-', "_"));
    cargo.env(compiler, "musl-gcc");
    let args = [
        "build",
        "--release",
        "--bin",
        "outrigger",
        "--target",
        target,
    ];
    run(cargo.args(args))?;
    Ok(target_directory(&root)
        .join(target)
        .join("release/outrigger"))
}

/// Builds the program that records answers of a real API server.
pub(crate) fn recorder() -> anyhow::Result<PathBuf> {
    let args = ["build", "--workspace", "--bin", "outrigger-recorder"];
    Ok(build(&args, Profile::Dev)?.join("outrigger-recorder"))
}

/// Returns the directory of the built programs.
fn build(args: &[&str], profile: Profile) -> anyhow::Result<PathBuf> {
    let root = tidy::root();
    let mut cargo = command(env!("CARGO"), &root);
    run(cargo.args(args).arg("--quiet"))?;
    Ok(target_directory(&root).join(match profile {
        Profile::Dev => "debug",
        Profile::Release => "release",
    }))
}

fn target_directory(root: &Path) -> PathBuf {
    let directory = std::env::var_os("CARGO_TARGET_DIR");
    directory.map_or_else(|| root.join("target"), PathBuf::from)
}
