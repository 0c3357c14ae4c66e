//! The files of the provider folder: which a machine needs, and trees of them to copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use outrigger_api::cluster::Cluster;
use outrigger_api::machine::{Machine, MachineRole};
use outrigger_node::{Entry, FileCache, ScanProgress, Tree};

use crate::StepError;
use crate::changes::Change;
use crate::lifecycle::plain_version;
use crate::provider::folder::{self, File, FileKind, Folder, ReadError, Release};

/// Where programs go.
const BIN: &str = "/usr/local/bin";
/// Where archives are until they are unpacked or imported.
const STATE: &str = "/var/lib/outrigger";
/// Images of which the first part of the name says that only control planes run them.
const CONTROL_PLANE_IMAGES: &[&str] = &[
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// A provider folder.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    index: Folder,
    cache: FileCache,
    /// The trees that were read, by their digests: the cache knows a file as long as a tree has it.
    trees: Mutex<BTreeMap<String, Tree>>,
}

/// A file and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed<'a> {
    pub(super) file: &'a File,
    pub(super) destination: String,
}

impl Placed<'_> {
    /// What copying it changes.
    pub(super) fn change(&self) -> Change {
        let File {
            path, size, sha256, ..
        } = self.file;
        Change::Copy {
            source: path.clone(),
            destination: self.destination.clone(),
            size: *size,
            sha256: sha256.clone(),
        }
    }
}

impl Files {
    pub(crate) fn open(root: &Path) -> Result<Self, ReadError> {
        Ok(Self {
            root: root.to_owned(),
            index: folder::read_index(root)?,
            cache: FileCache::default(),
            trees: Mutex::default(),
        })
    }

    /// What the folder lacks for a version of Kubernetes, on all architectures.
    pub(super) fn missing(&self, version: &str) -> Vec<String> {
        let mut releases = self.index.releases.iter();
        if releases.any(|release| release.kubernetes == version) {
            return Vec::new();
        }
        let folder = self.root.display();
        vec![format!("Kubernetes {version} in {folder}")]
    }

    /// The files for a machine. An architecture that is not known yet is any.
    pub(super) fn release(&self, cluster: &Cluster, machine: Option<&Machine>) -> Option<&Release> {
        let facts = machine.and_then(|machine| machine.status.as_ref()?.facts.as_ref());
        let architecture = facts.map(|facts| facts.architecture.as_str());
        let architecture = architecture.filter(|architecture| !architecture.is_empty());
        let version = plain_version(&cluster.spec.version);
        let mut releases = self.index.releases.iter();
        releases.find(|release| {
            release.kubernetes == version
                && architecture.is_none_or(|it| it == release.architecture)
        })
    }

    /// The files for an architecture, or what is said about it.
    pub(super) fn of_architecture(
        &self,
        cluster: &Cluster,
        architecture: &str,
    ) -> Result<&Release, String> {
        let version = plain_version(&cluster.spec.version);
        let release = self.index.release(version, architecture);
        release.ok_or_else(|| {
            let releases = self.index.releases.iter();
            let releases = releases.filter(|release| release.kubernetes == version);
            let known: Vec<&str> = releases.map(|release| &*release.architecture).collect();
            format!(
                "the provider folder has Kubernetes {version} for {}, not for {architecture}",
                known.join(", ")
            )
        })
    }

    /// Reads the files, and checks that they are those of the index.
    pub(super) async fn tree(&self, files: &[Placed<'_>]) -> Result<Tree, StepError> {
        let entries: Vec<Entry> = files
            .iter()
            .map(|placed| Entry {
                source: PathBuf::from(&placed.file.path),
                destination: placed.destination.clone(),
            })
            .collect();
        let programs = files.iter().filter(|it| it.file.kind == FileKind::Binary);
        let programs: BTreeSet<String> = programs.map(|it| it.destination.clone()).collect();
        let (cache, root) = (self.cache.clone(), self.root.clone());
        let scan = tokio::task::spawn_blocking(move || {
            cache.scan(&root, &entries, &programs, &ScanProgress::default())
        });
        let scanned = scan.await.map_err(|_| {
            StepError::Provider("the scan of the provider folder panicked".to_owned())
        })?;
        let tree = scanned.map_err(|error| StepError::Provider(error.to_string()))?;
        for Placed { file, destination } in files {
            if tree.digest_of(destination) != Some(&*file.sha256) {
                return Err(StepError::Provider(format!(
                    "{} in {} is not the file that provider.yaml lists; run `outrigger provider check`",
                    file.path,
                    self.root.display()
                )));
            }
        }
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.insert(tree.digest().to_owned(), tree.clone());
        Ok(tree)
    }
}

/// The programs of a release with these names; those that it does not have are left out.
pub(super) fn programs<'a>(release: &'a Release, names: &[&str]) -> Vec<Placed<'a>> {
    let files = names
        .iter()
        .filter_map(|name| release.file(FileKind::Binary, name));
    files
        .map(|file| Placed {
            file,
            destination: format!("{BIN}/{}", file.name),
        })
        .collect()
}

/// The package whose name begins like this.
pub(super) fn package<'a>(release: &'a Release, prefix: &str) -> Option<Placed<'a>> {
    let mut files = release.files.iter();
    let file =
        files.find(|file| file.kind == FileKind::Package && file.name.starts_with(prefix))?;
    Some(Placed {
        file,
        destination: format!("{STATE}/packages/{}", file.name),
    })
}

/// The images that a machine runs.
pub(super) fn images(release: &Release, role: MachineRole) -> Vec<Placed<'_>> {
    let images = release.files.iter().filter(|file| {
        let is_needed = role == MachineRole::ControlPlane || !is_of_control_plane(&file.name);
        file.kind == FileKind::Image && is_needed
    });
    images
        .map(|file| Placed {
            file,
            destination: format!("{STATE}/images/{}.tar", &file.sha256[..16]),
        })
        .collect()
}

pub(super) fn has_images(release: &Release) -> bool {
    let mut files = release.files.iter();
    files.any(|file| file.kind == FileKind::Image)
}

/// Whether the release has an image whose name, without registry and tag, is this.
pub(super) fn has_image(release: &Release, name: &str) -> bool {
    let mut files = release.files.iter();
    files.any(|file| file.kind == FileKind::Image && repository_name(&file.name) == name)
}

fn is_of_control_plane(reference: &str) -> bool {
    CONTROL_PLANE_IMAGES.contains(&repository_name(reference))
}

/// `kube-proxy` of `registry.k8s.io/kube-proxy:v1.36.4`.
fn repository_name(reference: &str) -> &str {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    let name = name.split('@').next().unwrap_or(name);
    name.split(':').next().unwrap_or(name)
}

/// The image of sandboxes.
pub(super) fn pause_image(release: &Release) -> Option<&str> {
    let mut images = release.files.iter();
    let image =
        images.find(|file| file.kind == FileKind::Image && repository_name(&file.name) == "pause");
    image.map(|file| file.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> Release {
        let file = |kind, name: &str| File {
            kind,
            name: name.to_owned(),
            path: name.to_owned(),
            size: 1,
            sha256: "0".repeat(64),
        };
        let images = ["kube-apiserver:v1", "etcd:3", "kube-proxy:v1", "pause:3.10"];
        let images = images.map(|name| file(FileKind::Image, &format!("registry.k8s.io/{name}")));
        let mut files = images.to_vec();
        files.push(file(FileKind::Binary, "kubelet"));
        files.push(file(FileKind::Package, "containerd-2.2.tar.gz"));
        Release {
            kubernetes: "1.36.4".to_owned(),
            architecture: "amd64".to_owned(),
            files,
        }
    }

    #[test]
    fn workers_get_no_images_of_the_control_plane() {
        let release = release();
        let names = |role| -> Vec<String> {
            let images = images(&release, role);
            images.iter().map(|it| it.file.name.clone()).collect()
        };
        assert_eq!(names(MachineRole::ControlPlane).len(), 4);
        assert_eq!(
            names(MachineRole::Worker),
            [
                "registry.k8s.io/kube-proxy:v1",
                "registry.k8s.io/pause:3.10"
            ]
        );
        assert_eq!(pause_image(&release), Some("registry.k8s.io/pause:3.10"));
    }

    #[test]
    fn an_architecture_that_the_folder_lacks_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder {
            name: "test".to_owned(),
            releases: vec![release()],
        };
        fs_err::write(root.path().join("provider.yaml"), folder.to_yaml()).unwrap();
        let files = Files::open(root.path()).unwrap();
        let mut cluster = Cluster::new("c", outrigger_api::cluster::ClusterSpec::default());
        "v1.36.4".clone_into(&mut cluster.spec.version);
        assert!(files.of_architecture(&cluster, "amd64").is_ok());
        assert_eq!(
            files.of_architecture(&cluster, "arm64").unwrap_err(),
            "the provider folder has Kubernetes 1.36.4 for amd64, not for arm64"
        );
    }

    #[test]
    fn programs_and_packages_have_their_destinations() {
        let release = release();
        let programs = programs(&release, &["kubelet", "crictl"]);
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0].destination, "/usr/local/bin/kubelet");
        let package = package(&release, "containerd").unwrap();
        assert_eq!(
            package.destination,
            "/var/lib/outrigger/packages/containerd-2.2.tar.gz"
        );
    }
}
