//! The artifacts of the lab, in which real clusters are made: programs, the root file system of machines, image archives.
//!
//! `cargo xtask peers lab` makes them, `cargo xtask peers lab-next` those of the next minor release of Kubernetes.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use crate::{
    DROPBEAR, ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KUBECTL, KUBERNETES,
    Peer, SSHD, Source, cache, etcd, kube_apiserver, kube_controller_manager, kube_scheduler,
    kubectl, kubernetes,
};

/// The Debian release of machines.
pub const DEBIAN: &str = "bookworm";
/// The revision of the root file system: raise it with each change of how it is made.
const ROOT_REVISION: u32 = 1;
/// The revision of the image archives.
const IMAGES_REVISION: u32 = 2;

/// A release of Kubernetes with what it is run with.
#[derive(Debug, Clone, Copy)]
pub struct Release {
    /// The name for `cargo xtask peers`.
    pub name: &'static str,
    pub kubernetes: &'static str,
    pub peers: &'static [Peer],
}

pub const CURRENT: Release = Release {
    name: "lab",
    kubernetes: KUBERNETES,
    peers: &[
        SSHD,
        DROPBEAR,
        DEBOOTSTRAP,
        PAUSE,
        APP,
        COREDNS,
        CRICTL,
        ETCD,
        etcdctl(ETCD.version),
        etcdutl(ETCD.version),
        KUBECTL,
        KUBE_APISERVER,
        KUBE_CONTROLLER_MANAGER,
        KUBE_SCHEDULER,
        kube_proxy(KUBERNETES),
        kubelet(KUBERNETES),
        kubeadm(KUBERNETES),
    ],
};

const KUBERNETES_NEXT: &str = "1.37.0";
const ETCD_NEXT: &str = "3.7.0";

pub const NEXT: Release = Release {
    name: "lab-next",
    kubernetes: KUBERNETES_NEXT,
    peers: &[
        SSHD,
        DROPBEAR,
        DEBOOTSTRAP,
        PAUSE,
        APP,
        coredns("1.14.6"),
        CRICTL,
        etcd(ETCD_NEXT),
        etcdctl(ETCD_NEXT),
        etcdutl(ETCD_NEXT),
        kubectl(KUBERNETES_NEXT),
        kube_apiserver(KUBERNETES_NEXT),
        kube_controller_manager(KUBERNETES_NEXT),
        kube_scheduler(KUBERNETES_NEXT),
        kube_proxy(KUBERNETES_NEXT),
        kubelet(KUBERNETES_NEXT),
        kubeadm(KUBERNETES_NEXT),
    ],
};

pub const RELEASES: [Release; 2] = [CURRENT, NEXT];

/// Installs the packages of a Debian release into a folder.
pub const DEBOOTSTRAP: Peer = Peer {
    name: "debootstrap",
    version: "debian",
    source: Source::Debian {
        packages: &["debootstrap", "debian-archive-keyring"],
        program: "usr/sbin/debootstrap",
    },
    version_args: &["--version"],
};
/// The process of a pod's sandbox.
pub const PAUSE: Peer = Peer {
    name: "pause",
    version: "3.10.2",
    source: Source::GoMain {
        source: include_str!("lab/pause.go"),
        module: None,
    },
    version_args: &["-v"],
};
/// A program for the pods of tests.
pub const APP: Peer = Peer {
    name: "app",
    version: "1",
    source: Source::GoMain {
        source: include_str!("lab/app.go"),
        module: None,
    },
    version_args: &["version"],
};
pub const COREDNS: Peer = coredns("1.14.2");
pub const CRICTL: Peer = Peer {
    name: "crictl",
    version: "1.36.0",
    source: Source::GoModule {
        package: "sigs.k8s.io/cri-tools/cmd/crictl",
        version_variable: Some("sigs.k8s.io/cri-tools/pkg/version.Version=v"),
    },
    version_args: &["--version"],
};

/// The cluster DNS server with the plugins that kubeadm's configuration names; all plugins need the SDKs of all clouds.
const fn coredns(version: &'static str) -> Peer {
    Peer {
        name: "coredns",
        version,
        source: Source::GoMain {
            source: include_str!("lab/coredns.go"),
            module: Some("github.com/coredns/coredns"),
        },
        version_args: &["-version"],
    }
}

const fn etcdctl(version: &'static str) -> Peer {
    Peer {
        name: "etcdctl",
        version,
        source: Source::Go {
            package: "go.etcd.io/etcd/etcdctl/v3",
            modules: &["go.etcd.io/etcd/etcdctl/v3"],
            version_variable: None,
        },
        version_args: &["version"],
    }
}

const fn etcdutl(version: &'static str) -> Peer {
    Peer {
        name: "etcdutl",
        version,
        source: Source::Go {
            package: "go.etcd.io/etcd/etcdutl/v3",
            modules: &["go.etcd.io/etcd/etcdutl/v3"],
            version_variable: None,
        },
        version_args: &["version"],
    }
}

const fn kube_proxy(version: &'static str) -> Peer {
    kubernetes("kube-proxy", version, "k8s.io/kubernetes/cmd/kube-proxy")
}

const fn kubelet(version: &'static str) -> Peer {
    kubernetes("kubelet", version, "k8s.io/kubernetes/cmd/kubelet")
}

const fn kubeadm(version: &'static str) -> Peer {
    Peer {
        version_args: &["version", "--output=short"],
        ..kubernetes("kubeadm", version, "k8s.io/kubernetes/cmd/kubeadm")
    }
}

impl Release {
    /// The program of a name.
    pub fn peer(&self, name: &str) -> anyhow::Result<Peer> {
        let peer = self.peers.iter().find(|peer| peer.name == name);
        peer.copied()
            .with_context(|| format!("the lab has no program {name:?}"))
    }

    /// The folder of image archives, installed or not. Each is a `docker save` archive of one image.
    pub fn images(&self) -> anyhow::Result<PathBuf> {
        let name = format!("images-{}-{IMAGES_REVISION}", self.kubernetes);
        Ok(cache()?.join("lab").join(name))
    }

    /// The images that a cluster of this release runs, and the program in each.
    pub fn image_references(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let programs = [
            ("kube-apiserver", "registry.k8s.io/kube-apiserver:v", ""),
            (
                "kube-controller-manager",
                "registry.k8s.io/kube-controller-manager:v",
                "",
            ),
            ("kube-scheduler", "registry.k8s.io/kube-scheduler:v", ""),
            ("kube-proxy", "registry.k8s.io/kube-proxy:v", ""),
            ("etcd", "registry.k8s.io/etcd:", "-0"),
            ("coredns", "registry.k8s.io/coredns/coredns:v", ""),
            ("pause", "registry.k8s.io/pause:", ""),
            ("app", "example.test/app:", ""),
        ];
        let references = programs.into_iter().map(|(name, prefix, suffix)| {
            Ok((
                name,
                format!("{prefix}{}{suffix}", self.peer(name)?.version),
            ))
        });
        references.collect()
    }

    /// Fails with a text that says how to install what is missing.
    pub fn installed(&self) -> anyhow::Result<()> {
        let hint = || {
            format!(
                "the lab with Kubernetes {} is not installed; run `cargo xtask peers {}` as root",
                self.kubernetes, self.name
            )
        };
        for peer in self.peers {
            peer.installed().with_context(hint)?;
        }
        ensure!(root()?.is_dir() && self.images()?.is_dir(), hint());
        Ok(())
    }
}

/// The root file system that all machines share read-only, installed or not.
pub fn root() -> anyhow::Result<PathBuf> {
    let name = format!("debian-{DEBIAN}-{ROOT_REVISION}");
    Ok(cache()?.join("lab").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_references_that_kubeadm_expects() {
        let references = CURRENT.image_references().unwrap();
        let named = |name: &str| {
            let found = references.iter().find(|(program, _)| *program == name);
            found.unwrap().1.clone()
        };
        assert_eq!(named("etcd"), "registry.k8s.io/etcd:3.6.8-0");
        assert_eq!(named("coredns"), "registry.k8s.io/coredns/coredns:v1.14.2");
        assert_eq!(named("kube-proxy"), "registry.k8s.io/kube-proxy:v1.36.4");
        assert_eq!(named("pause"), "registry.k8s.io/pause:3.10.2");
    }

    #[test]
    fn releases_have_programs_of_their_own_version() {
        for release in RELEASES {
            for name in ["kubeadm", "kubelet", "kubectl", "kube-proxy"] {
                assert_eq!(release.peer(name).unwrap().version, release.kubernetes);
            }
        }
        assert_ne!(CURRENT.images().unwrap(), NEXT.images().unwrap());
    }
}
