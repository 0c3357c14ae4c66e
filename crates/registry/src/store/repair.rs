//! Verifies content: what a crash may have damaged when the store is opened, and everything on request.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use outrigger_oci::{Algorithm, Digest, Manifest};

use super::upload::digest_of;
use super::{Store, StoreError, list, remove};

/// Damage that a check found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("blob {0} is corrupt")]
    Corrupt(Digest),
    #[error("{path} is not named by a digest", path = .0.display())]
    Unexpected(PathBuf),
    #[error("{repository}: manifest {manifest} refers to {missing}, which does not exist")]
    Missing {
        repository: String,
        manifest: Digest,
        missing: Digest,
    },
    #[error("{repository}: tag {tag} names {digest}, which does not exist")]
    Tag {
        repository: String,
        tag: String,
        digest: String,
    },
}

impl Store {
    /// Verifies the blobs that had not reached the disk. Those that are damaged are removed, as if never pushed, and so are
    /// the manifests that need them: a client that finds a manifest does not push its blobs again.
    pub(super) fn verify_unsynced(&self) -> Result<(), StoreError> {
        let folder = self.path(&["unsynced"]);
        let names = list(&folder)?;
        let mut lost = HashSet::new();
        for name in &names {
            let digest = name.replacen('-', ":", 1).parse::<Digest>();
            if let Ok(digest) = digest
                && !self.is_intact(&digest)?
            {
                lost.insert(digest);
            }
        }
        self.drop_manifests_with(&lost)?;
        // A marker stays until nothing refers to its blob, so that another crash changes nothing.
        for name in names {
            remove(&folder.join(name))?;
        }
        Ok(())
    }

    /// Whether a blob is what its digest says. A damaged one is removed.
    fn is_intact(&self, digest: &Digest) -> Result<bool, StoreError> {
        let path = self.blob_path(digest);
        if !path.exists() {
            return Ok(false);
        }
        if digest_of(&path, digest.algorithm())? == *digest {
            return Ok(true);
        }
        tracing::warn!("removing blob {digest}, which a crash damaged");
        remove(&path)?;
        Ok(false)
    }

    /// Removes the manifests that are lost or need a lost blob, with their tags.
    fn drop_manifests_with(&self, lost: &HashSet<Digest>) -> Result<(), StoreError> {
        if lost.is_empty() {
            return Ok(());
        }
        for repository in self.repositories()? {
            for digest in self.manifests(&repository)? {
                let bytes = self.read_content(&digest)?;
                let parsed = bytes.and_then(|bytes| Manifest::parse(&bytes, None).ok());
                let needs_lost = parsed
                    .iter()
                    .flat_map(Manifest::blobs)
                    .any(|blob| !blob.is_foreign() && lost.contains(&blob.digest));
                if needs_lost || lost.contains(&digest) {
                    tracing::warn!("removing manifest {digest} of {repository}, which is damaged");
                    self.drop_manifest(&repository, &digest)?;
                }
            }
        }
        Ok(())
    }

    /// Verifies all content, and that nothing is missing that a tag or a manifest refers to.
    pub fn check(&self, report: &mut dyn FnMut(Problem)) -> Result<u64, StoreError> {
        let mut checked = 0;
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let folder = self.path(&["blobs", algorithm.name()]);
            for prefix in list(&folder)? {
                for hex in list(&folder.join(&prefix))? {
                    checked += 1;
                    check_blob(&folder.join(&prefix).join(&hex), algorithm, &hex, report)?;
                }
            }
        }
        for repository in self.repositories()? {
            self.check_repository(&repository, report)?;
        }
        Ok(checked)
    }

    /// Removes blobs that are corrupt and manifests whose content is missing, so that the next push sends them again. Only the
    /// process that opened the store may do so: what another one pushes meanwhile would be removed as well.
    pub fn repair(&self, problems: &[Problem]) -> Result<(), StoreError> {
        let mut lost = HashSet::new();
        for problem in problems {
            match problem {
                Problem::Corrupt(digest) => {
                    remove(&self.blob_path(digest))?;
                    lost.insert(digest.clone());
                }
                Problem::Missing {
                    repository,
                    manifest,
                    ..
                } => self.drop_manifest(repository, manifest)?,
                Problem::Tag {
                    repository, tag, ..
                } => match self.delete_tag(repository, tag) {
                    // Its manifest was dropped before.
                    Err(StoreError::ManifestUnknown(_)) => {}
                    deleted => deleted?,
                },
                Problem::Unexpected(_) => {}
            }
        }
        self.drop_manifests_with(&lost)
    }

    fn check_repository(
        &self,
        repository: &str,
        report: &mut dyn FnMut(Problem),
    ) -> Result<(), StoreError> {
        for tag in self.tags(repository)? {
            let digest = self.resolve_tag(repository, &tag);
            let is_valid = digest
                .as_ref()
                .is_ok_and(|digest| self.manifest(repository, digest).is_ok());
            if !is_valid {
                let digest = digest.map(|digest| digest.to_string()).unwrap_or_default();
                report(Problem::Tag {
                    repository: repository.to_owned(),
                    tag,
                    digest,
                });
            }
        }
        for digest in self.manifests(repository)? {
            let Ok(stored) = self.manifest(repository, &digest) else {
                continue;
            };
            let Ok(manifest) = Manifest::parse(&stored.bytes, None) else {
                continue;
            };
            for blob in manifest.blobs().filter(|blob| !blob.is_foreign()) {
                if self.open_content(&blob.digest)?.is_none()
                    || !self.has_link(repository, &blob.digest)
                {
                    report(Problem::Missing {
                        repository: repository.to_owned(),
                        manifest: digest.clone(),
                        missing: blob.digest.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn check_blob(
    path: &Path,
    algorithm: Algorithm,
    hex: &str,
    report: &mut dyn FnMut(Problem),
) -> Result<(), StoreError> {
    let Ok(digest) = format!("{}:{hex}", algorithm.name()).parse::<Digest>() else {
        report(Problem::Unexpected(path.to_owned()));
        return Ok(());
    };
    if digest_of(path, algorithm)? != digest {
        report(Problem::Corrupt(digest));
    }
    Ok(())
}
