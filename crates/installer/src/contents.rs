//! What an installation brings to a site, read and checked before anything changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger_api::cluster::Cluster;
use outrigger_api::hook::Hook;
use outrigger_api::machine::Machine;
use outrigger_api::plugin::Plugin;
use outrigger_api::step;
use outrigger_expansion::contents::source::{self, Source};
use outrigger_expansion::contents::{self, ChartArchive};
use outrigger_expansion::{Finding, Opened, Package, template};
use outrigger_oci::{Archive, Digest, InvalidReference, Reference};

/// Everything that the steps need.
#[derive(Debug, Default)]
pub struct Contents {
    pub package: Option<PackageContents>,
    /// Hooks of the installer, by name. Those of a package replace those of the site.
    pub hooks: BTreeMap<&'static str, HookScript>,
    pub cluster: Option<SiteCluster>,
    /// The folder in which the sources of the configuration's own files are.
    pub site_files: Option<PathBuf>,
    /// The provider folder of the site.
    pub provider: Option<PathBuf>,
    /// The registry to which images are pushed, `HOST[:PORT][/PATH]`.
    pub site_registry: Option<String>,
}

/// The cluster of the configuration, merged with the package, and what belongs to it.
#[derive(Debug)]
pub struct SiteCluster {
    pub cluster: Cluster,
    pub workers: Vec<Machine>,
    /// The digest of cluster, workers and Secrets.
    pub digest: String,
}

impl SiteCluster {
    pub fn name(&self) -> &str {
        self.cluster.metadata.name.as_deref().unwrap_or_default()
    }
}

/// Who a hook is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Site,
    Package,
    /// Of the package, in place of one of the site.
    PackageInsteadOfSite,
}

/// A script that runs on the machine of the installer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookScript {
    pub script: Vec<u8>,
    pub digest: Digest,
    pub origin: Origin,
}

/// A file for machines, as it is copied to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// In the package.
    pub path: String,
    /// Relative to the files root, as `spec.features.files` names it.
    pub source: String,
    pub mode: u32,
    pub digest: Digest,
    /// The rendered content; `None` copies the file of the package.
    pub content: Option<Vec<u8>>,
}

/// An image of the package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackagedImage {
    pub name: Reference,
    pub digest: Digest,
}

/// A package whose findings are not fatal.
#[derive(Debug)]
pub struct PackageContents {
    pub name: String,
    pub version: Option<String>,
    pub source: Source,
    pub files: Vec<StagedFile>,
    /// Files that replace those of the provider folder, by their paths in it.
    pub provider: BTreeMap<String, Digest>,
    pub images: Vec<PackagedImage>,
    /// The archive of the images in the folder of the package.
    pub archive: Option<PathBuf>,
    pub charts: Vec<ChartArchive>,
    pub plugins: Vec<Plugin>,
    pub operator: Option<PackageOperator>,
}

/// The operator of delegated steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageOperator {
    /// A program in `operator/`.
    Program { name: String, digest: Digest },
    /// An image, which the site runs.
    Image(String),
}

/// Why the contents of an installation cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error("{file} cannot be rendered")]
    Render {
        file: String,
        #[source]
        source: template::Error,
    },
    #[error("{0}")]
    Chart(Finding),
    #[error("failed to read the images of {}", path.display())]
    Images {
        path: PathBuf,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("the archive of the package has no image {0}")]
    NoImage(Reference),
    #[error("the package has an image with an invalid name")]
    ImageName(#[source] InvalidReference),
    #[error(
        "{first} and {second} are different images that would both become {path} in the registry"
    )]
    SameImageName {
        path: String,
        first: Box<Reference>,
        second: Box<Reference>,
    },
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} is not a hook of the installer; the hooks are: {}", .0.display(), hook_names())]
    UnknownHook(PathBuf),
    #[error("{} does not begin with `#!`, so that nothing says what runs it", .0.display())]
    NoShebang(PathBuf),
}

fn hook_names() -> String {
    let names: Vec<&str> = Hook::of_installer().map(|hook| hook.name).collect();
    names.join(", ")
}

impl Contents {
    /// Adds the hooks of a folder: files with the names of hooks.
    pub fn add_site_hooks(&mut self, folder: &Path) -> Result<(), ContentsError> {
        let failed = |source| ContentsError::Read {
            path: folder.to_owned(),
            source,
        };
        for entry in fs_err::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(hook) = Hook::of_installer().find(|hook| hook.name == name) else {
                return Err(ContentsError::UnknownHook(path));
            };
            let script = fs_err::read(&path).map_err(|source| ContentsError::Read {
                path: path.clone(),
                source,
            })?;
            if !script.starts_with(b"#!") {
                return Err(ContentsError::NoShebang(path));
            }
            self.add_hook(hook.name, script, Origin::Site);
        }
        Ok(())
    }

    /// Adds a package and its hooks.
    pub fn set_package(
        &mut self,
        opened: &Opened,
        package: &Package,
        source: Source,
    ) -> Result<(), ContentsError> {
        for (name, script) in contents::hooks(&opened.scanned, package) {
            if let Some(hook) = Hook::of_installer().find(|hook| hook.name == name) {
                self.add_hook(hook.name, script, Origin::Package);
            }
        }
        self.package = Some(PackageContents::read(opened, package, source)?);
        Ok(())
    }

    fn add_hook(&mut self, name: &'static str, script: Vec<u8>, origin: Origin) {
        let origin = match (origin, self.hooks.contains_key(name)) {
            (Origin::Package, true) => Origin::PackageInsteadOfSite,
            (origin, _) => origin,
        };
        let digest = Digest::of(&script);
        let hook = HookScript {
            script,
            digest,
            origin,
        };
        self.hooks.insert(name, hook);
    }

    /// The operator that the installer starts, and the ids of the steps that are delegated to it.
    pub(crate) fn operator(&self) -> Option<(&str, &Digest, Vec<String>)> {
        let operator = self.package.as_ref()?.operator.as_ref()?;
        let PackageOperator::Program { name, digest } = operator else {
            return None;
        };
        let features = self.cluster.as_ref().map(|it| &it.cluster.spec.features);
        let delegated = features.iter().flat_map(|it| &it.delegate_conditions);
        let steps = delegated.map(|step| match step::find(step) {
            Some(id) => id.to_owned(),
            None => step.clone(),
        });
        Some((name, digest, steps.collect()))
    }

    /// The folder with the sources of `spec.features.files`. Without a package it is that of the site.
    pub fn has_staged_files(&self) -> bool {
        self.package
            .as_ref()
            .is_some_and(|package| !package.files.is_empty())
    }
}

impl PackageContents {
    fn read(opened: &Opened, package: &Package, source: Source) -> Result<Self, ContentsError> {
        let definition = &package.definition;
        let files = package.files.iter().map(|file| {
            let content = package.render(&opened.scanned, file);
            let content = content.map_err(|source| ContentsError::Render {
                file: file.path.clone(),
                source,
            })?;
            Ok(StagedFile {
                path: file.path.clone(),
                source: format!("{}/{}", package.name, file.path),
                mode: file.mode,
                digest: match &content {
                    Some(content) => Digest::of(content),
                    None => source.digest_of(opened, &file.path)?,
                },
                content,
            })
        });
        let files = files.collect::<Result<Vec<_>, ContentsError>>()?;
        let provider = definition.provider.iter().map(|file| {
            let digest = source.digest_of(opened, &format!("provider/{}", file.value))?;
            Ok((file.value.clone(), digest))
        });
        let provider = provider.collect::<Result<_, ContentsError>>()?;
        let archive = opened.scanned.archive.as_ref();
        let archive = archive.filter(|_| opened.built.is_none());
        let archive = archive.map(|archive| source.path().join(&archive.path));
        let images = match (&opened.built, &archive) {
            _ if definition.images_loaded => Vec::new(),
            (Some(built), _) => locked_images(built.lock.images())?,
            (None, Some(archive)) => archived_images(package, archive)?,
            (None, None) => Vec::new(),
        };
        ensure_distinct(&images)?;
        let operator = definition.operator.as_ref().map(|operator| {
            let path = &operator.value;
            match path.strip_prefix("operator/") {
                Some(name) => Ok(PackageOperator::Program {
                    name: name.to_owned(),
                    digest: source.digest_of(opened, path)?,
                }),
                None => Ok(PackageOperator::Image(path.clone())),
            }
        });
        let operator = operator.transpose().map_err(ContentsError::Source)?;
        Ok(Self {
            operator,
            name: package.name.clone(),
            version: package.version.clone(),
            files,
            provider,
            images,
            archive,
            charts: contents::charts(&opened.scanned, package).map_err(ContentsError::Chart)?,
            plugins: contents::plugins(&opened.scanned),
            source,
        })
    }

    /// `demo 1.0.0`
    pub fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }
}

fn locked_images(images: &BTreeMap<String, Digest>) -> Result<Vec<PackagedImage>, ContentsError> {
    let images = images.iter().map(|(name, digest)| {
        let name = name.parse().map_err(ContentsError::ImageName)?;
        let digest = digest.clone();
        Ok(PackagedImage { name, digest })
    });
    images.collect()
}

/// The images of the list, with their digests in the archive.
fn archived_images(package: &Package, path: &Path) -> Result<Vec<PackagedImage>, ContentsError> {
    let opened = Archive::open(path).map_err(|source| ContentsError::Images {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let source = outrigger_oci::Source::Archive(Arc::new(opened));
    let outrigger_oci::Source::Archive(archive) = &source else {
        return Ok(Vec::new());
    };
    let listed = package.definition.images.iter().map(|image| {
        let name: Reference = image.value.parse().map_err(ContentsError::ImageName)?;
        let mut images = archive.images().iter();
        let found = images.find(|candidate| {
            let mut names = candidate.names.iter();
            names.any(|candidate| candidate.parse::<Reference>().is_ok_and(|it| it == name))
        });
        match found {
            Some(found) => Ok(PackagedImage {
                digest: found.digest.clone(),
                name,
            }),
            None => Err(ContentsError::NoImage(name)),
        }
    });
    listed.collect()
}

/// Images keep their paths, so that those of two hosts may clash.
fn ensure_distinct(images: &[PackagedImage]) -> Result<(), ContentsError> {
    let mut taken: BTreeMap<String, &PackagedImage> = BTreeMap::new();
    for image in images {
        let tag = image.name.tag().unwrap_or_default();
        let path = format!("{}:{tag}", image.name.repository().path());
        if let Some(other) = taken.insert(path.clone(), image)
            && other.digest != image.digest
        {
            return Err(ContentsError::SameImageName {
                path,
                first: Box::new(other.name.clone()),
                second: Box::new(image.name.clone()),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(name: &str, content: &str) -> PackagedImage {
        PackagedImage {
            name: name.parse().unwrap(),
            digest: Digest::of(content.as_bytes()),
        }
    }

    #[test]
    fn two_images_never_get_one_name() {
        let same = [image("quay.io/a/b:1", "x"), image("gcr.io/a/b:1", "x")];
        assert!(ensure_distinct(&same).is_ok());
        let different = [image("quay.io/a/b:1", "x"), image("gcr.io/a/b:1", "y")];
        let error = ensure_distinct(&different).unwrap_err().to_string();
        assert!(error.contains("would both become a/b:1"), "{error}");
    }

    #[test]
    fn hooks_of_a_package_replace_those_of_the_site() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("pre-install"), "#!/bin/sh\n").unwrap();
        let mut contents = Contents::default();
        contents.add_site_hooks(folder.path()).unwrap();
        assert_eq!(contents.hooks["pre-install"].origin, Origin::Site);
        contents.add_hook(
            "pre-install",
            b"#!/bin/sh\nexit 1\n".to_vec(),
            Origin::Package,
        );
        let hook = &contents.hooks["pre-install"];
        assert_eq!(hook.origin, Origin::PackageInsteadOfSite);
        assert!(hook.script.ends_with(b"exit 1\n"));
    }

    #[test]
    fn a_folder_of_hooks_has_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("pre-instal"), "#!/bin/sh\n").unwrap();
        let error = Contents::default()
            .add_site_hooks(folder.path())
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the hooks are: pre-install, post-cluster-ready")
        );
    }
}
