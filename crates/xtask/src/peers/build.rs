//! Builds peers from Go modules and from crates.io.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use fs_err as fs;
use outrigger_peers::{self as peers, Peer, Source};

use crate::process::{command, output};

const KUBERNETES_VERSION: &str = "k8s.io/component-base/version";

/// Builds Go programs together, since they share most of their packages. They then need one version of each module, so
/// go.mod has the requirements of all peers, not only of those to build.
pub(super) fn go(peers: &[Peer], scratch: &Path) -> anyhow::Result<()> {
    let manifest = manifest(&kubernetes_go_mod(scratch)?);
    fs::write(scratch.join("go.mod"), manifest)?;
    let bin = scratch.join("bin");
    fs::create_dir(&bin)?;
    let mut go = go_tool(scratch);
    go.args(["build", "-mod=mod", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-ldflags", &link_flags()])
        .arg("-o")
        .arg(&bin);
    output(go.args(peers.iter().filter_map(package)))?;
    for peer in peers {
        let package = package(peer).context("the peer is not a Go program")?;
        fs::rename(bin.join(program(package)), scratch.join(peer.name))?;
    }
    Ok(())
}

fn package(peer: &Peer) -> Option<&'static str> {
    match peer.source {
        Source::Go { package, .. } | Source::Kubernetes { package } => Some(package),
        Source::Python { .. }
        | Source::PythonEnvironment { .. }
        | Source::Debian { .. }
        | Source::Cargo
        | Source::KubernetesTest { .. }
        | Source::GoModule { .. } => None,
    }
}

/// Builds a test program of Kubernetes.
pub(super) fn kubernetes_test(peer: Peer, package: &str, scratch: &Path) -> anyhow::Result<()> {
    fs::write(
        scratch.join("go.mod"),
        manifest(&kubernetes_go_mod(scratch)?),
    )?;
    let mut go = go_tool(scratch);
    go.args(["test", "-c", "-vet=off", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-ldflags", &link_flags()])
        .args(["-o", peer.name, package]);
    output(&mut go).map(drop)
}

/// Builds a program with the versions that its own module requires.
pub(super) fn go_module(peer: Peer, package: &str, scratch: &Path) -> anyhow::Result<()> {
    fs::write(
        scratch.join("go.mod"),
        "module example.test/peer\n\ngo 1.25.0\n",
    )?;
    let package_version = format!("{package}@v{}", peer.version);
    output(go_tool(scratch).args(["get", &package_version]))?;
    let mut go = go_tool(scratch);
    go.args(["build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"])
        .args(["-o", peer.name, package]);
    output(&mut go).map(drop)
}

/// The file name of the program of a Go package: the last path element that is not a major version.
fn program(package: &str) -> &str {
    let is_major = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let parts = package.rsplit('/').find(|part| !is_major(part));
    parts.unwrap_or(package)
}

/// The linker flags that set the versions of all programs.
fn link_flags() -> String {
    let minor = peers::KUBERNETES.split('.').nth(1).unwrap_or_default();
    let version = peers::KUBERNETES;
    let mut flags = format!(
        "-s -w -X {KUBERNETES_VERSION}.gitVersion=v{version} -X {KUBERNETES_VERSION}.gitMajor=1 -X {KUBERNETES_VERSION}.gitMinor={minor}"
    );
    for peer in peers::ALL {
        if let Source::Go {
            version_variable: Some(variable),
            ..
        } = peer.source
        {
            flags.push_str(&format!(" -X {variable}{}", peer.version));
        }
    }
    flags
}

/// The go.mod of Kubernetes.
fn kubernetes_go_mod(scratch: &Path) -> anyhow::Result<String> {
    let module = format!("k8s.io/kubernetes@v{}", peers::KUBERNETES);
    let answer = output(go_tool(scratch).args(["mod", "download", "-json", &module]))?;
    let path = answer
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_prefix("\"GoMod\": \"")?
                .strip_suffix("\",")
        })
        .context("go mod download printed no GoMod")?;
    Ok(fs::read_to_string(path)?)
}

/// A go.mod that requires the modules of all programs. Kubernetes requires its staging modules at v0.0.0 and replaces
/// them by directories; as a dependency it needs the published ones, which have the minor and patch number of the
/// release.
fn manifest(kubernetes: &str) -> String {
    let go = kubernetes
        .lines()
        .find(|line| line.starts_with("go "))
        .unwrap_or("go 1.26.0");
    let version = peers::KUBERNETES;
    let minor_and_patch = version.split_once('.').map_or("0.0", |(_, rest)| rest);
    let mut manifest =
        format!("module example.test/peer\n\n{go}\n\nrequire (\n\tk8s.io/kubernetes v{version}\n");
    for line in kubernetes.lines() {
        let mut words = line.split_whitespace();
        if let (Some(module), Some("v0.0.0")) = (words.next(), words.next())
            && module.starts_with("k8s.io/")
        {
            manifest.push_str(&format!("\t{module} v0.{minor_and_patch}\n"));
        }
    }
    for peer in peers::ALL {
        if let Source::Go { modules, .. } = peer.source {
            for module in modules {
                manifest.push_str(&format!("\t{module} v{}\n", peer.version));
            }
        }
    }
    manifest.push_str(")\n");
    manifest
}

fn go_tool(directory: &Path) -> Command {
    let mut go = command("go", directory);
    // The compiler is faster if it collects garbage only near the memory limit.
    go.env("CGO_ENABLED", "0")
        .env("GOGC", "off")
        .env("GOMEMLIMIT", "3GiB")
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local");
    go
}

/// Installs a crate without optimization, which would take longer than all its runs.
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
    fn requires_staging_modules_at_the_version_of_the_release() {
        let upstream = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\tk8s.io/api v0.0.0\n)\n\nreplace k8s.io/api => ./staging\n";
        let manifest = manifest(upstream);
        let start = "module example.test/peer\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.4\n\tk8s.io/api v0.36.4\n";
        assert!(manifest.starts_with(start), "{manifest}");
        assert!(
            manifest.contains("\n\thelm.sh/helm/v4 v4.2.4\n"),
            "{manifest}"
        );
    }

    #[test]
    fn names_programs_like_go_build() {
        assert_eq!(program("k8s.io/kubernetes/cmd/kubectl"), "kubectl");
        assert_eq!(program("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(program("helm.sh/helm/v4/cmd/helm"), "helm");
    }
}
