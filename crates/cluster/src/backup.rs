//! Backups of clusters: a tar archive with a snapshot of etcd, the keys of the cluster, and what they are.
//!
//! ```text
//! backup.json   which cluster it is of, its version, when and where it was taken
//! digests       SHA-256 of all other files, by the machine that made them
//! pki/          the CAs and the key of service accounts, which all control planes share
//! etcd.db       the snapshot, which has a digest of its own at its end
//! ```

use std::collections::BTreeMap;
use std::io::{self, Read};

use kube::ResourceExt as _;
use outrigger_api::cluster::Cluster;
use outrigger_gostd::semver::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::lifecycle::installed_version;

pub use crate::provider::baremetal_backup::{check, restored_file, take};

/// The version of the format.
const FORMAT: u32 = 1;
const DESCRIPTION: &str = "backup.json";
const DIGESTS: &str = "digests";
const SNAPSHOT: &str = "etcd.db";
const CA: &str = "pki/ca.crt";
/// Files of the public key infrastructure that each backup has.
pub(crate) const KEYS: &[&str] = &[
    CA,
    "pki/ca.key",
    "pki/etcd/ca.crt",
    "pki/etcd/ca.key",
    "pki/front-proxy-ca.crt",
    "pki/front-proxy-ca.key",
    "pki/sa.key",
    "pki/sa.pub",
];
/// No other file than the snapshot is larger.
const MAX_SMALL: u64 = 256 * 1024;
/// Files and folders of an archive.
const MAX_ENTRIES: usize = 64;

/// What a backup is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    pub format: u32,
    /// Name of the cluster.
    pub cluster: String,
    pub uid: String,
    /// Version of Kubernetes.
    pub version: String,
    /// Name of the machine that made the snapshot.
    pub machine: String,
    /// When it was made.
    pub taken: String,
}

/// A backup that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub description: Description,
    /// SHA-256 of the certificate of the cluster's CA, which no other cluster has.
    pub ca: String,
    /// Bytes of the snapshot.
    pub snapshot: u64,
    /// SHA-256 of the whole file.
    pub digest: String,
}

/// A file is not a backup, or not a complete one.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is not a backup of a cluster: it has {0:?}")]
    Unexpected(String),
    #[error("it is not a complete backup: {0} is missing")]
    Missing(String),
    #[error("{0} is not the file that was backed up: its digest is another one")]
    Digest(String),
    #[error("{DESCRIPTION} is invalid: {0}")]
    Description(serde_json::Error),
    #[error("it has format {0}, and this version of Outrigger reads format {FORMAT}")]
    Format(u32),
}

impl Description {
    /// What a backup of a cluster as it is now has.
    pub fn new(cluster: &Cluster, machine: &str, now: jiff::Timestamp) -> Self {
        Self {
            format: FORMAT,
            cluster: cluster.name_any(),
            uid: cluster.uid().unwrap_or_default(),
            version: installed_version(cluster).unwrap_or_default().to_owned(),
            machine: machine.to_owned(),
            taken: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }

    /// Why a cluster cannot be restored from this backup.
    pub fn refused(&self, cluster: &Cluster) -> Option<String> {
        let installed = installed_version(cluster).unwrap_or_default();
        if cluster.uid().as_ref() != Some(&self.uid) {
            let Self { cluster: name, .. } = self;
            return Some(if *name == cluster.name_any() {
                format!("it is of another cluster that had the name {name}")
            } else {
                format!("it is of cluster {name}")
            });
        }
        let minor = |version: &str| {
            let version = Version::parse(version).ok()?;
            Some((version.major, version.minor))
        };
        (minor(installed).is_none() || minor(installed) != minor(&self.version)).then(|| {
            format!(
                "it has the data of Kubernetes {}, and the cluster has version {installed}",
                self.version
            )
        })
    }
}

/// Reads a backup to its end, and compares all digests.
pub fn read(file: impl Read) -> Result<Backup, ReadError> {
    let mut archive = tar::Archive::new(Digesting::new(file));
    let mut description = None;
    let mut listed = String::new();
    let (mut found, mut snapshot) = (BTreeMap::new(), 0);
    for (index, entry) in archive.entries()?.enumerate() {
        let entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let kind = entry.header().entry_type();
        if kind.is_dir() && ["pki/", "pki", "pki/etcd/", "pki/etcd"].contains(&path.as_str()) {
            continue;
        }
        let is_known = [DESCRIPTION, DIGESTS, SNAPSHOT].contains(&path.as_str())
            || KEYS.contains(&path.as_str());
        let is_large = entry.size() > MAX_SMALL && path != SNAPSHOT;
        if !kind.is_file() || !is_known || is_large || index >= MAX_ENTRIES {
            return Err(ReadError::Unexpected(path));
        }
        match path.as_str() {
            DESCRIPTION => {
                let parsed = serde_json::from_reader(entry.take(MAX_SMALL));
                description = Some(parsed.map_err(ReadError::Description)?);
            }
            DIGESTS => {
                entry.take(MAX_SMALL).read_to_string(&mut listed)?;
            }
            _ => {
                if path == SNAPSHOT {
                    snapshot = entry.size();
                }
                let mut content = Digesting::new(entry);
                io::copy(&mut content, &mut io::sink())?;
                found.insert(path, content.finish());
            }
        }
    }
    // What follows the last entry is part of the file, too.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink())?;
    let description: Description =
        description.ok_or_else(|| ReadError::Missing(DESCRIPTION.to_owned()))?;
    if description.format != FORMAT {
        return Err(ReadError::Format(description.format));
    }
    compare(&listed, &found)?;
    Ok(Backup {
        description,
        ca: found.remove(CA).unwrap_or_default(),
        snapshot,
        digest: rest.finish(),
    })
}

/// Compares the files with the list of their digests, as `sha256sum` prints it.
fn compare(listed: &str, found: &BTreeMap<String, String>) -> Result<(), ReadError> {
    let listed: BTreeMap<&str, &str> = listed
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(digest, path)| (path, digest))
        .collect();
    for path in KEYS.iter().chain([&SNAPSHOT]) {
        let digest = found.get(*path).zip(listed.get(path));
        let (found, listed) = digest.ok_or_else(|| ReadError::Missing((*path).to_owned()))?;
        if found != listed {
            return Err(ReadError::Digest((*path).to_owned()));
        }
    }
    Ok(())
}

/// Computes the digest of what is read.
struct Digesting<R> {
    inner: R,
    hasher: Sha256,
}

impl<R> Digesting<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
        }
    }

    fn finish(self) -> String {
        let digest = self.hasher.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
