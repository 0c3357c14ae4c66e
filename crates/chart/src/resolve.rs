//! `helm dependency update` and `build` without network access: locked versions, archives for `charts/`, and the
//! dependencies that the caller must fetch from a repository.

use std::fmt::Write;

use crate::chart::Chart;
use crate::lock;
use crate::metadata::{API_V1, Dependency, Lock};
use crate::package::{self, Package};
use crate::profile::Profile;
use crate::version::{self, VersionError};
use crate::{load, metadata_yaml, yaml};

/// The resolved dependencies.
#[derive(Debug)]
pub struct Resolution {
    /// One entry per declared dependency. Those in `remote` still have the declared range as version.
    pub locked: Vec<Dependency>,
    /// Archives of `file://` dependencies, for `charts/`.
    pub archives: Vec<Package>,
    /// Dependencies in a repository or registry.
    pub remote: Vec<Dependency>,
    /// The output of Helm.
    pub text: String,
    /// Whether the lock file is written if its digest changes. Not if the versions are those of the lock file, or if
    /// nothing is declared.
    pub writes_lock: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("dependency {0:?} has an invalid version/constraint format: {1}")]
    Range(String, VersionError),
    #[error("directory {0} not found")]
    NoFolder(String),
    #[error(transparent)]
    Load(#[from] load::Error),
    #[error("unable to load chart '{path}': {source}")]
    LoadUnpacked { path: String, source: load::Error },
    #[error("dependency {name} at version {found} does not satisfy the constraint {range}")]
    UnpackedVersion {
        name: String,
        found: String,
        range: String,
    },
    #[error("can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or change the version constraint in Chart.yaml", .0.len(), .0.join(", "))]
    NoVersion(Vec<String>),
    #[error(
        "the lock file ({lock}) is out of sync with the dependencies file ({file}). Please update the dependencies with 'outrigger chart dependency update'"
    )]
    OutOfSync {
        lock: &'static str,
        file: &'static str,
    },
    #[error(transparent)]
    Package(#[from] package::Error),
}

/// Loads the chart in a folder, relative to the chart; `None` if the folder does not exist.
pub type LoadLocal<'a> = &'a mut dyn FnMut(&str) -> Result<Option<Chart>, load::Error>;

/// Resolves all declared dependencies.
pub fn update(chart: &Chart, profile: Profile, load: LoadLocal<'_>) -> Result<Resolution, Error> {
    let mut resolution = Resolution {
        locked: Vec::new(),
        archives: Vec::new(),
        remote: Vec::new(),
        text: String::new(),
        writes_lock: chart.metadata.dependencies.is_some(),
    };
    let declared = chart.metadata.declared();
    if declared.is_empty() {
        return Ok(resolution);
    }
    let mut missing = Vec::new();
    for dependency in declared {
        version::check_range(&dependency.version, profile)
            .map_err(|error| Error::Range(dependency.name.clone(), error))?;
        let mut locked = Dependency {
            name: dependency.name.clone(),
            repository: dependency.repository.clone(),
            version: dependency.version.clone(),
            ..Dependency::default()
        };
        if let Some(local) = local(dependency, load)? {
            if !version::satisfies(&dependency.version, &local.metadata.version, profile) {
                missing.push(describe(dependency));
                continue;
            }
            locked.version.clone_from(&local.metadata.version);
            // As in Helm, the dependencies of a local chart are not updated, and may be missing.
            let archive = package::save(&local, None, profile)?;
            resolution.archives.push(archive);
        } else if !dependency.repository.is_empty() {
            resolution.remote.push(locked.clone());
        }
        resolution.locked.push(locked);
    }
    if !missing.is_empty() {
        return Err(Error::NoVersion(missing));
    }
    resolution.text = output(&resolution.locked);
    check_unpacked(chart, declared, profile, load)?;
    Ok(resolution)
}

/// Checks that the lock is up to date, then resolves the locked versions.
pub fn build(chart: &Chart, profile: Profile, load: LoadLocal<'_>) -> Result<Resolution, Error> {
    let Some(lock) = &chart.lock else {
        return update(chart, profile, load);
    };
    check_lock(chart, lock)?;
    let mut locked = chart.clone();
    locked.metadata.dependencies = Some(lock.dependencies.clone());
    let resolution = update(&locked, profile, load)?;
    Ok(Resolution {
        writes_lock: false,
        ..resolution
    })
}

/// Fails if the lock is out of sync with the declared dependencies.
pub fn check_lock(chart: &Chart, lock: &Lock) -> Result<(), Error> {
    let declared = chart.metadata.declared();
    let is_v1 = chart.metadata.api_version == API_V1;
    let is_in_sync = lock::digest(declared, &lock.dependencies) == lock.digest
        || (is_v1 && lock::digest_v2(declared) == lock.digest);
    if is_in_sync {
        return Ok(());
    }
    let (lock, file) = if is_v1 {
        ("requirements.lock", "requirements.yaml")
    } else {
        ("Chart.lock", "Chart.yaml")
    };
    Err(Error::OutOfSync { lock, file })
}

/// The lock of the resolved dependencies. `generated` is the current time in RFC 3339.
pub fn lock(chart: &Chart, locked: &[Dependency], generated: String) -> Lock {
    Lock {
        generated,
        digest: lock::digest(chart.metadata.declared(), locked),
        dependencies: locked.to_vec(),
    }
}

/// The name and contents of the lock file.
pub fn lock_file(chart: &Chart, lock: &Lock) -> (&'static str, Vec<u8>) {
    let mut text = yaml::to_yaml(&metadata_yaml::of_lock(lock));
    text.push(b'\n');
    let is_v1 = chart.metadata.api_version == API_V1;
    (
        if is_v1 {
            "requirements.lock"
        } else {
            "Chart.lock"
        },
        text,
    )
}

fn local(dependency: &Dependency, load: LoadLocal<'_>) -> Result<Option<Chart>, Error> {
    let Some(path) = dependency.repository.strip_prefix("file://") else {
        return Ok(None);
    };
    match load(path)? {
        Some(chart) => Ok(Some(chart)),
        None => Err(Error::NoFolder(path.to_owned())),
    }
}

/// Checks dependencies without a repository, which must be unpacked in `charts/`.
fn check_unpacked(
    chart: &Chart,
    declared: &[Dependency],
    profile: Profile,
    load: LoadLocal<'_>,
) -> Result<(), Error> {
    for dependency in declared.iter().filter(|d| d.repository.is_empty()) {
        let path = format!("charts/{}", dependency.name);
        let subchart = chart
            .subcharts
            .iter()
            .find(|subchart| subchart.name() == dependency.name);
        let found = match subchart {
            Some(chart) => chart.metadata.version.clone(),
            None => match load(&path) {
                Ok(Some(chart)) => chart.metadata.version,
                Ok(None) => return Err(Error::NoFolder(path)),
                Err(source) => return Err(Error::LoadUnpacked { path, source }),
            },
        };
        if !version::satisfies(&dependency.version, &found, profile) {
            return Err(Error::UnpackedVersion {
                name: dependency.name.clone(),
                found,
                range: dependency.version.clone(),
            });
        }
    }
    Ok(())
}

fn describe(dependency: &Dependency) -> String {
    let quote = outrigger_gostd::strconv::quote;
    format!(
        "{} (repository {}, version {})",
        quote(&dependency.name),
        quote(&dependency.repository),
        quote(&dependency.version)
    )
}

fn output(locked: &[Dependency]) -> String {
    let mut text = format!("Saving {} charts\n", locked.len());
    for dependency in locked {
        if dependency.repository.is_empty() {
            let _ = writeln!(
                text,
                "Dependency {} did not declare a repository. Assuming it exists in the charts directory",
                dependency.name
            );
        } else if !dependency.repository.starts_with("file://") {
            let _ = writeln!(
                text,
                "Downloading {} from repo {}",
                dependency.name, dependency.repository
            );
        }
    }
    text.push_str("Deleting outdated charts\n");
    text
}
