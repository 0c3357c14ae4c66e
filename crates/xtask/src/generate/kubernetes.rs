//! `cargo xtask gen kubernetes`: the committed files that hold facts about the pinned Kubernetes release.
//!
//! A Go program prints what Kubernetes' Go types say; the crate `outrigger-recorder` records what a real API server
//! answers. Both write into a temporary folder, which is then copied into the repository or compared with it.

use std::path::{Path, PathBuf};

use anyhow::bail;
use fs_err as fs;
use outrigger_peers::{ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER};

use crate::process::{command, run as run_command};
use crate::{build, peers, tidy};

mod go_program;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only report which committed files are out of date
    #[arg(long)]
    check: bool,
    /// Generate only files whose path contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// Random objects of each kind in the protobuf test data, for a thorough run that is not committed
    #[arg(long, default_value_t = 0)]
    rounds: u32,
    /// The seed of the random objects
    #[arg(long, default_value_t = 1)]
    seed: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = tidy::root();
    let output = tempfile::tempdir()?;
    go_program::run(output.path(), args)?;
    record(&root, output.path(), args)?;
    let mut stale = Vec::new();
    for path in files(output.path())? {
        let relative = path.strip_prefix(output.path())?;
        let committed = root.join(relative);
        let text = fs::read(&path)?;
        if fs::read(&committed).unwrap_or_default() == text {
            continue;
        }
        if !args.check {
            fs::write(&committed, text)?;
        }
        stale.push(relative.display().to_string());
    }
    stale.sort();
    report(&stale, args.check)
}

#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
fn report(stale: &[String], check: bool) -> anyhow::Result<()> {
    if check && !stale.is_empty() {
        bail!(
            "out of date; run `cargo xtask gen kubernetes`:\n{}",
            stale.join("\n")
        );
    }
    for path in stale {
        eprintln!("updated {path}");
    }
    Ok(())
}

/// Runs the recorder on a real API server.
fn record(root: &Path, output: &Path, args: &Args) -> anyhow::Result<()> {
    peers::install(&[ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER])?;
    let mut recorder = command(build::recorder()?, root);
    recorder.arg("--root").arg(root);
    recorder.arg("--output").arg(output);
    run_command(recorder.arg("--only").arg(&args.only))
}

/// All files below a folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
