//! Builds peers from Go modules and from crates.io.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use fs_err as fs;
use outrigger_peers::lab::{self, Release};
use outrigger_peers::{self as peers, Peer, Source};

use crate::process::{command, output};

const KUBERNETES_VERSION: &str = "k8s.io/component-base/version";

/// Go programs that are built with one go.mod, so that they share most of their packages. They then need one version of
/// each module, so go.mod has the requirements of all of them, not only of those to build.
#[derive(Debug)]
pub(super) struct Workspace {
    kubernetes: &'static str,
    peers: Vec<Peer>,
}

impl Workspace {
    /// The workspace that builds these peers: that of the next release of Kubernetes for its peers, else the one of the
    /// default peers. What is not installed by default is required only if it is built.
    pub(super) fn of(batch: &[Peer]) -> Self {
        let next = lab::NEXT;
        if batch.iter().any(|peer| is_of(next, peer)) {
            let peers = next.peers.iter().filter(|peer| is_of(next, peer)).copied();
            return Self {
                kubernetes: next.kubernetes,
                peers: peers.collect(),
            };
        }
        let others = batch.iter().filter(|peer| !peers::ALL.contains(peer));
        Self {
            kubernetes: peers::KUBERNETES,
            peers: peers::ALL.iter().chain(others).copied().collect(),
        }
    }
}

/// Whether a peer is a Go program of this release only.
pub(super) fn is_of(release: Release, peer: &Peer) -> bool {
    package(peer).is_some() && release.peers.contains(peer) && !peers::ALL.contains(peer)
}

/// Builds Go programs together.
pub(super) fn go(peers: &[Peer], scratch: &Path) -> anyhow::Result<()> {
    let workspace = Workspace::of(peers);
    let kubernetes = kubernetes_go_mod(workspace.kubernetes, scratch)?;
    fs::write(scratch.join("go.mod"), workspace.manifest(&kubernetes))?;
    let bin = scratch.join("bin");
    fs::create_dir(&bin)?;
    let flags = workspace.link_flags();
    let mut go = go_tool(scratch);
    go.args(["build", "-mod=mod", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-ldflags", &flags])
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
        | Source::GoModule { .. }
        | Source::GoMain { .. } => None,
    }
}

/// Builds a test program of Kubernetes.
pub(super) fn kubernetes_test(peer: Peer, package: &str, scratch: &Path) -> anyhow::Result<()> {
    let workspace = Workspace::of(&[]);
    let kubernetes = kubernetes_go_mod(workspace.kubernetes, scratch)?;
    fs::write(scratch.join("go.mod"), workspace.manifest(&kubernetes))?;
    let flags = workspace.link_flags();
    let mut go = go_tool(scratch);
    go.args(["test", "-c", "-vet=off", "-trimpath", "-buildvcs=false"])
        .args(["-gcflags=all=-dwarf=false", "-ldflags", &flags])
        .args(["-o", peer.name, package]);
    output(&mut go).map(drop)
}

/// Builds a program with the versions that its own module requires.
pub(super) fn go_module(
    peer: Peer,
    package: &str,
    version_variable: Option<&str>,
    scratch: &Path,
) -> anyhow::Result<()> {
    fs::write(scratch.join("go.mod"), EMPTY_MANIFEST)?;
    let package_version = format!("{package}@v{}", peer.version);
    output(go_tool(scratch).args(["get", &package_version]))?;
    let version = version_variable.map_or_else(String::new, |variable| {
        format!(" -X {variable}{}", peer.version)
    });
    go_build(peer, package, &format!("-s -w{version}"), scratch)
}

/// Builds a program from its source and the module that it uses.
pub(super) fn go_source(
    peer: Peer,
    source: &str,
    module: Option<&str>,
    scratch: &Path,
) -> anyhow::Result<()> {
    let requirement = module.map_or_else(String::new, |module| {
        format!("\nrequire {module} v{}\n", peer.version)
    });
    fs::write(
        scratch.join("go.mod"),
        format!("{EMPTY_MANIFEST}{requirement}"),
    )?;
    fs::write(scratch.join("main.go"), source)?;
    go_build(peer, ".", "-s -w", scratch)
}

const EMPTY_MANIFEST: &str = "module example.test/peer\n\ngo 1.25.0\n";

fn go_build(peer: Peer, package: &str, link_flags: &str, scratch: &Path) -> anyhow::Result<()> {
    let mut go = go_tool(scratch);
    go.args(["build", "-trimpath", "-buildvcs=false", "-ldflags"])
        .args([link_flags, "-o", peer.name, package]);
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

impl Workspace {
    /// The linker flags that set the versions of all programs.
    fn link_flags(&self) -> String {
        let version = self.kubernetes;
        let minor = version.split('.').nth(1).unwrap_or_default();
        let mut flags = format!(
            "-s -w -X {KUBERNETES_VERSION}.gitVersion=v{version} -X {KUBERNETES_VERSION}.gitMajor=1 -X {KUBERNETES_VERSION}.gitMinor={minor}"
        );
        for peer in &self.peers {
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

    /// A go.mod that requires the modules of all programs. Kubernetes requires its staging modules at v0.0.0 and replaces
    /// them by directories; as a dependency it needs the published ones, which have the minor and patch number of the
    /// release.
    fn manifest(&self, kubernetes: &str) -> String {
        let go = kubernetes
            .lines()
            .find(|line| line.starts_with("go "))
            .unwrap_or("go 1.26.0");
        let version = self.kubernetes;
        let minor_and_patch = version.split_once('.').map_or("0.0", |(_, rest)| rest);
        let mut manifest = format!(
            "module example.test/peer\n\n{go}\n\nrequire (\n\tk8s.io/kubernetes v{version}\n"
        );
        for line in kubernetes.lines() {
            let mut words = line.split_whitespace();
            if let (Some(module), Some("v0.0.0")) = (words.next(), words.next())
                && module.starts_with("k8s.io/")
            {
                manifest.push_str(&format!("\t{module} v0.{minor_and_patch}\n"));
            }
        }
        for peer in &self.peers {
            if let Source::Go { modules, .. } = peer.source {
                for module in modules {
                    manifest.push_str(&format!("\t{module} v{}\n", peer.version));
                }
            }
        }
        manifest.push_str(")\n");
        manifest
    }
}

/// The go.mod of Kubernetes.
fn kubernetes_go_mod(version: &str, scratch: &Path) -> anyhow::Result<String> {
    let module = format!("k8s.io/kubernetes@v{version}");
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

    const UPSTREAM: &str = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\tk8s.io/api v0.0.0\n)\n\nreplace k8s.io/api => ./staging\n";

    #[test]
    fn requires_staging_modules_at_the_version_of_the_release() {
        let manifest = Workspace::of(peers::ALL).manifest(UPSTREAM);
        let start = "module example.test/peer\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.4\n\tk8s.io/api v0.36.4\n";
        assert!(manifest.starts_with(start), "{manifest}");
        assert!(
            manifest.contains("\n\thelm.sh/helm/v4 v4.2.4\n"),
            "{manifest}"
        );
    }

    #[test]
    fn the_next_release_has_a_workspace_of_its_own_and_the_lab_does_not_change_the_default_one() {
        let next = Workspace::of(lab::NEXT.peers).manifest(UPSTREAM);
        assert!(next.contains("\tk8s.io/api v0.37.0\n"), "{next}");
        assert!(!next.contains("v3.6.8") && !next.contains("helm"), "{next}");
        let current = Workspace::of(lab::CURRENT.peers).manifest(UPSTREAM);
        assert!(current.contains("etcdctl/v3 v3.6.8\n"), "{current}");
        let default = Workspace::of(peers::ALL).manifest(UPSTREAM);
        assert!(!default.contains("etcdctl"), "{default}");
    }

    #[test]
    fn names_programs_like_go_build() {
        assert_eq!(program("k8s.io/kubernetes/cmd/kubectl"), "kubectl");
        assert_eq!(program("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(program("helm.sh/helm/v4/cmd/helm"), "helm");
    }
}
