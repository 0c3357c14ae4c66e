//! A provider folder: the files that are installed on machines, for each version of Kubernetes and architecture.
//!
//! `provider.yaml` lists every file with its digest, so that what reaches a machine is what was checked. This module decides;
//! `read` reads the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

mod read;
#[cfg(test)]
mod tests;

pub use read::{ReadError, read_files, read_index};

/// The name of the index.
pub const INDEX: &str = "provider.yaml";

/// Programs without which no machine becomes a node.
const REQUIRED_BINARIES: &[&str] = &["kubeadm", "kubectl", "kubelet"];

/// The index of a provider folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Folder {
    pub name: String,
    pub releases: Vec<Release>,
}

/// The files for one version of Kubernetes on one architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// Such as `1.36.4`.
    pub kubernetes: String,
    /// Go's name, such as `amd64`.
    pub architecture: String,
    pub files: Vec<File>,
}

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    pub kind: FileKind,
    /// Of a binary its command, of an image its reference, else the file name. Unique for its kind.
    pub name: String,
    /// Relative to the folder.
    pub path: String,
    pub size: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// What a file is for, and the folder that it is in: `<kubernetes>/<architecture>/<folder>/<file>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileKind {
    /// A program that is installed as it is.
    Binary,
    /// An archive of one image, which is imported into the container runtime.
    Image,
    /// An archive that is unpacked on the machine: the container runtime, CNI plugins.
    Package,
    /// A configuration file.
    Template,
}

impl FileKind {
    const ALL: [Self; 4] = [Self::Binary, Self::Image, Self::Package, Self::Template];

    /// The folder of its files.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Binary => "bin",
            Self::Image => "images",
            Self::Package => "packages",
            Self::Template => "templates",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "binary",
            Self::Image => "image",
            Self::Package => "package",
            Self::Template => "template",
        })
    }
}

/// Size and digest of a file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub size: u64,
    pub sha256: String,
}

/// Why an index is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    #[error("{INDEX} is not valid YAML")]
    Yaml(#[source] outrigger_goyaml::Error),
    #[error("{INDEX} is invalid: {0}")]
    Fields(String),
    #[error("{0:?} is not a version of Kubernetes, such as 1.36.4")]
    Version(String),
    #[error("{0:?} is not a path in the folder")]
    Path(String),
    #[error("{0} is not an archive of one image that has a name")]
    Image(String),
    #[error("{path}: {sha256:?} is not a SHA-256 digest")]
    Digest { path: String, sha256: String },
    #[error("Kubernetes {kubernetes} for {architecture} is listed twice")]
    DuplicateRelease {
        kubernetes: String,
        architecture: String,
    },
    #[error("{kind} {name} is listed twice for Kubernetes {kubernetes}")]
    DuplicateFile {
        kind: FileKind,
        name: String,
        kubernetes: String,
    },
}

/// A difference between an index and its folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    #[error("{path} is missing")]
    Missing { path: String },
    #[error("{path} has the digest {found}, not {expected}")]
    Digest {
        path: String,
        expected: String,
        found: String,
    },
    #[error("{path} has {found} bytes, not {expected}")]
    Size {
        path: String,
        expected: u64,
        found: u64,
    },
    #[error("{path} is not listed in {INDEX}")]
    Unlisted { path: String },
    #[error(
        "there is no release: no file is in VERSION/ARCHITECTURE/bin, images, packages or templates"
    )]
    NoRelease,
    #[error("Kubernetes {kubernetes} for {architecture} has no {kind} {name}")]
    Incomplete {
        kubernetes: String,
        architecture: String,
        kind: FileKind,
        name: &'static str,
    },
}

impl Folder {
    /// Parses an index.
    pub fn parse(text: &[u8]) -> Result<Self, IndexError> {
        let value = outrigger_goyaml::parse_json(text).map_err(IndexError::Yaml)?;
        let folder: Self =
            serde_json::from_value(value).map_err(|error| IndexError::Fields(error.to_string()))?;
        folder.validate()?;
        Ok(folder)
    }

    /// The index of files that lie where their kinds say. `image` gives the reference of an image archive.
    /// Files elsewhere are not listed.
    pub fn of_files(
        name: &str,
        files: &BTreeMap<String, Content>,
        image: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, IndexError> {
        let mut releases: BTreeMap<(&str, &str), Vec<File>> = BTreeMap::new();
        for (path, content) in files {
            let Some((release, kind, file_name)) = classify(path) else {
                continue;
            };
            let name = match kind {
                FileKind::Image => image(path).ok_or_else(|| IndexError::Image(path.clone()))?,
                _ => file_name.to_owned(),
            };
            releases.entry(release).or_default().push(File {
                kind,
                name,
                path: path.clone(),
                size: content.size,
                sha256: content.sha256.clone(),
            });
        }
        let releases = releases
            .into_iter()
            .map(|((kubernetes, architecture), files)| Release {
                kubernetes: kubernetes.to_owned(),
                architecture: architecture.to_owned(),
                files,
            });
        let folder = Self {
            name: name.to_owned(),
            releases: releases.collect(),
        };
        folder.validate()?;
        Ok(folder)
    }

    /// The text of `provider.yaml`.
    pub fn to_yaml(&self) -> Vec<u8> {
        let value = serde_json::to_value(self).unwrap_or_default();
        outrigger_goyaml::write_json(&value)
    }

    /// The files of a version on an architecture.
    pub fn release(&self, kubernetes: &str, architecture: &str) -> Option<&Release> {
        let kubernetes = kubernetes.strip_prefix('v').unwrap_or(kubernetes);
        let mut releases = self.releases.iter();
        releases.find(|release| {
            release.kubernetes == kubernetes && release.architecture == architecture
        })
    }

    /// Differences between the index and the files that the folder has.
    pub fn check(&self, files: &BTreeMap<String, Content>) -> Vec<Finding> {
        let listed = || self.releases.iter().flat_map(|release| &release.files);
        let differences = listed().filter_map(|file| file.difference(files.get(&file.path)));
        let incomplete = self.releases.iter().flat_map(Release::incomplete);
        let names: BTreeSet<&str> = listed().map(|file| &*file.path).collect();
        let unlisted = files.keys().filter(|path| !names.contains(path.as_str()));
        let unlisted = unlisted.filter(|path| *path != INDEX);
        let no_release = self.releases.is_empty().then_some(Finding::NoRelease);
        let findings = no_release.into_iter().chain(differences);
        findings
            .chain(incomplete)
            .chain(unlisted.cloned().map(|path| Finding::Unlisted { path }))
            .collect()
    }

    /// Files of the folder that are not in the index. They have to be in the folder of a kind.
    pub fn unlisted(&self, files: &BTreeMap<String, Content>) -> Vec<Finding> {
        let mut findings = self.check(files);
        findings.retain(|finding| matches!(finding, Finding::Unlisted { .. }));
        findings
    }

    fn validate(&self) -> Result<(), IndexError> {
        let mut releases = BTreeSet::new();
        for release in &self.releases {
            if !is_version(&release.kubernetes) {
                return Err(IndexError::Version(release.kubernetes.clone()));
            }
            if !releases.insert((&release.kubernetes, &release.architecture)) {
                return Err(IndexError::DuplicateRelease {
                    kubernetes: release.kubernetes.clone(),
                    architecture: release.architecture.clone(),
                });
            }
            release.validate()?;
        }
        Ok(())
    }
}

impl Release {
    /// The file of a kind with a name.
    pub fn file(&self, kind: FileKind, name: &str) -> Option<&File> {
        let mut files = self.files.iter();
        files.find(|file| file.kind == kind && file.name == name)
    }

    /// This release with the files of another one, which replace those of the same kind and name.
    #[must_use]
    pub fn overridden_by(&self, other: &Self) -> Self {
        let kept = self.files.iter();
        let kept = kept.filter(|file| other.file(file.kind, &file.name).is_none());
        Self {
            files: kept.chain(&other.files).cloned().collect(),
            ..self.clone()
        }
    }

    fn incomplete(&self) -> impl Iterator<Item = Finding> {
        let missing = REQUIRED_BINARIES.iter();
        let missing = missing.filter(|name| self.file(FileKind::Binary, name).is_none());
        missing.map(|name| Finding::Incomplete {
            kubernetes: self.kubernetes.clone(),
            architecture: self.architecture.clone(),
            kind: FileKind::Binary,
            name,
        })
    }

    fn validate(&self) -> Result<(), IndexError> {
        let mut names = BTreeSet::new();
        for file in &self.files {
            file.validate()?;
            if !names.insert((file.kind, &file.name)) {
                return Err(IndexError::DuplicateFile {
                    kind: file.kind,
                    name: file.name.clone(),
                    kubernetes: self.kubernetes.clone(),
                });
            }
        }
        Ok(())
    }
}

impl File {
    fn validate(&self) -> Result<(), IndexError> {
        let mut components = Path::new(&self.path).components();
        let is_inside = components.all(|component| matches!(component, Component::Normal(_)));
        if self.path.is_empty() || !is_inside {
            return Err(IndexError::Path(self.path.clone()));
        }
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if self.sha256.len() != 64 || !self.sha256.bytes().all(is_digit) {
            return Err(IndexError::Digest {
                path: self.path.clone(),
                sha256: self.sha256.clone(),
            });
        }
        Ok(())
    }

    fn difference(&self, found: Option<&Content>) -> Option<Finding> {
        let path = self.path.clone();
        let Some(found) = found else {
            return Some(Finding::Missing { path });
        };
        if found.size != self.size {
            return Some(Finding::Size {
                path,
                expected: self.size,
                found: found.size,
            });
        }
        (found.sha256 != self.sha256).then(|| Finding::Digest {
            path,
            expected: self.sha256.clone(),
            found: found.sha256.clone(),
        })
    }
}

/// Version and architecture, kind and file name of a path.
fn classify(path: &str) -> Option<((&str, &str), FileKind, &str)> {
    let parts: Vec<&str> = path.splitn(4, '/').collect();
    let &[kubernetes, architecture, folder, name] = &parts[..] else {
        return None;
    };
    let mut kinds = FileKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.folder() == folder)?;
    Some(((kubernetes, architecture), kind, name))
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}
