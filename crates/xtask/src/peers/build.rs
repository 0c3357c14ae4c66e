//! Peers that are built from the modules of a language's registry.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use fs_err as fs;
use outrigger_testing::peers::Peer;

use crate::process::{command, output};

const KUBERNETES_VERSION: &str = "k8s.io/component-base/version";

/// A main package of modules that are released together.
pub(super) fn go(
    peer: Peer,
    package: &str,
    modules: &[&str],
    version_variable: &str,
    scratch: &Path,
) -> anyhow::Result<()> {
    let required: String = modules
        .iter()
        .map(|module| format!("\t{module} v{}\n", peer.version))
        .collect();
    let manifest = format!("module example.test/peer\n\ngo 1.26.0\n\nrequire (\n{required})\n");
    fs::write(scratch.join("go.mod"), manifest)?;
    let flags = format!("-X {version_variable}{}", peer.version);
    build(
        &[package.to_owned()],
        &flags,
        scratch,
        &scratch.join(peer.name),
    )
}

/// Kubernetes requires its sister modules at v0.0.0 and replaces them by folders; as a dependency it needs
/// the published ones, which have the minor and patch number of the release.
pub(super) fn kubernetes(parts: &[Peer], scratch: &Path) -> anyhow::Result<()> {
    let version = parts.first().context("no part was asked for")?.version;
    let (_, minor_and_patch) = version
        .split_once('.')
        .context("a version has a minor number")?;
    let minor = minor_and_patch.split('.').next().unwrap_or_default();
    let module = format!("k8s.io/kubernetes@v{version}");
    let answer = output(go_tool(scratch).args(["mod", "download", "-json", &module]))?;
    let upstream = answer
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("\"GoMod\": \"")?
                .strip_suffix("\",")
        })
        .context("go did not say where the module's go.mod is")?;
    let upstream = fs::read_to_string(upstream)?;
    fs::write(
        scratch.join("go.mod"),
        staged_manifest(&upstream, version, minor_and_patch),
    )?;
    let flags = format!(
        "-X {KUBERNETES_VERSION}.gitVersion=v{version} -X {KUBERNETES_VERSION}.gitMajor=1 -X {KUBERNETES_VERSION}.gitMinor={minor}"
    );
    let packages: Vec<_> = parts
        .iter()
        .map(|part| format!("k8s.io/kubernetes/cmd/{}", part.name))
        .collect();
    build(&packages, &flags, scratch, scratch)
}

fn staged_manifest(upstream: &str, version: &str, minor_and_patch: &str) -> String {
    let go = upstream
        .lines()
        .find(|line| line.starts_with("go "))
        .unwrap_or("go 1.26.0");
    let mut manifest =
        format!("module example.test/peer\n\n{go}\n\nrequire (\n\tk8s.io/kubernetes v{version}\n");
    for line in upstream.lines() {
        let mut words = line.split_whitespace();
        if let (Some(module), Some("v0.0.0")) = (words.next(), words.next())
            && module.starts_with("k8s.io/")
        {
            manifest.push_str(&format!("\t{module} v0.{minor_and_patch}\n"));
        }
    }
    manifest.push_str(")\n");
    manifest
}

/// Leaves the binary at a path, or the binaries in a folder that is there.
fn build(
    packages: &[String],
    link_flags: &str,
    folder: &Path,
    result: &Path,
) -> anyhow::Result<()> {
    let mut go = go_tool(folder);
    go.args([
        "build",
        "-mod=mod",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        &format!("-s -w {link_flags}"),
        "-o",
    ]);
    output(go.arg(result).args(packages))?;
    Ok(())
}

fn go_tool(folder: &Path) -> Command {
    let mut go = command("go", folder);
    // The compiler is quicker if it tidies its memory less often.
    go.env("CGO_ENABLED", "0")
        .env("GOGC", "400")
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local");
    go
}

/// Without optimisation: building would take longer than all that they ever do here.
pub(super) fn cargo(peer: Peer, scratch: &Path) -> anyhow::Result<()> {
    let install = [
        "install",
        "--debug",
        "--locked",
        "--quiet",
        "--root",
        ".",
        "--version",
        peer.version,
        peer.name,
    ];
    output(
        command("cargo", scratch)
            .args(install)
            .env("CARGO_TARGET_DIR", scratch.join("target"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0"),
    )?;
    Ok(fs::rename(
        scratch.join("bin").join(peer.name),
        scratch.join(peer.name),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sister_modules_are_required_at_the_release_of_the_same_number() {
        let upstream = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\tk8s.io/api v0.0.0\n)\n\nreplace k8s.io/api => ./staging\n";
        let manifest = staged_manifest(upstream, "1.36.4", "36.4");
        assert_eq!(
            manifest,
            "module example.test/peer\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.4\n\tk8s.io/api v0.36.4\n)\n"
        );
    }
}
