//! Garbage collection. It may run during pushes, also in another process than the server.
//!
//! A blob is removed only if no manifest refers to it and no client used it within the grace period. A push that finds a
//! blob renews it, so the push has that time to refer to it; a manifest whose blobs are gone is rejected. A manifest that is
//! accepted while garbage is collected keeps its blobs, also without a grace period.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use outrigger_oci::{Algorithm, Digest, Manifest};

use super::collected::SetAside;
use super::{Store, StoreError, list, remove};

/// When nobody will continue an upload.
const ABANDONED: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Only report what would be removed
    pub dry_run: bool,
    /// Also remove manifests that neither a tag, an index nor a subject refers to
    pub untagged: bool,
    /// How long unused content is kept; that of the store by default
    pub grace: Option<Duration>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    pub manifests: u64,
    pub blobs: u64,
    pub bytes: u64,
    pub uploads: u64,
}

impl Store {
    pub fn collect(&self, options: GcOptions) -> Result<Collected, StoreError> {
        let grace = options.grace.unwrap_or(self.shared.options.grace);
        let mut collected = Collected::default();
        let mut live = HashSet::new();
        if !options.dry_run {
            self.restore_collected()?;
        }
        for repository in self.repositories()? {
            if options.untagged {
                self.collect_untagged(&repository, grace, options, &mut collected)?;
            }
            let used = self.mark(&repository)?;
            if !options.dry_run {
                self.collect_links(&repository, &used, grace)?;
            }
            live.extend(used);
        }
        self.sweep(&live, grace, options, &mut collected)?;
        self.collect_uploads(grace, options, &mut collected)?;
        Ok(collected)
    }

    /// All content that the manifests of a repository refer to, and the manifests themselves.
    fn mark(&self, repository: &str) -> Result<HashSet<Digest>, StoreError> {
        let mut used = HashSet::new();
        for digest in self.manifests(repository)? {
            if let Some(manifest) = self.parsed(&digest)? {
                used.extend(manifest.blobs().map(|blob| blob.digest.clone()));
            }
            used.insert(digest);
        }
        Ok(used)
    }

    fn parsed(&self, digest: &Digest) -> Result<Option<Manifest>, StoreError> {
        let bytes = match self.read_content(digest)? {
            Some(bytes) => Some(bytes),
            None => self.read_set_aside(digest)?,
        };
        Ok(bytes.and_then(|bytes| Manifest::parse(&bytes, None).ok()))
    }

    fn collect_untagged(
        &self,
        repository: &str,
        grace: Duration,
        options: GcOptions,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        let mut kept = BTreeSet::new();
        let mut subjects: BTreeMap<Digest, Vec<Digest>> = BTreeMap::new();
        let mut queue: Vec<Digest> = Vec::new();
        for tag in self.tags(repository)? {
            queue.extend(self.resolve_tag(repository, &tag));
        }
        let all = self.manifests(repository)?;
        for digest in &all {
            if let Some(Manifest {
                subject: Some(subject),
                ..
            }) = self.parsed(digest)?
            {
                subjects
                    .entry(subject.digest)
                    .or_default()
                    .push(digest.clone());
            }
        }
        while let Some(digest) = queue.pop() {
            if kept.contains(&digest) {
                continue;
            }
            if let Some(manifest) = self.parsed(&digest)? {
                queue.extend(manifest.children().map(|child| child.digest.clone()));
            }
            queue.extend(subjects.get(&digest).into_iter().flatten().cloned());
            kept.insert(digest);
        }
        for digest in all.into_iter().filter(|digest| !kept.contains(digest)) {
            if !is_older(&self.manifest_path(repository, &digest), grace) {
                continue;
            }
            collected.manifests += 1;
            if !options.dry_run {
                self.delete_manifest(repository, &digest)?;
            }
        }
        Ok(())
    }

    /// Removes links to blobs that no manifest of the repository uses.
    pub(super) fn collect_links(
        &self,
        repository: &str,
        used: &HashSet<Digest>,
        grace: Duration,
    ) -> Result<(), StoreError> {
        let mut removed = Vec::new();
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let folder = self
                .repository(repository)
                .join("_blobs")
                .join(algorithm.name());
            for hex in list(&folder)? {
                let Ok(digest) = format!("{}:{hex}", algorithm.name()).parse::<Digest>() else {
                    continue;
                };
                let path = folder.join(&hex);
                let is_unused = is_older(&path, grace) && is_older(&self.blob_path(&digest), grace);
                if !used.contains(&digest) && is_unused && remove(&path)? {
                    removed.push(digest);
                }
            }
        }
        if removed.is_empty() {
            return Ok(());
        }
        // A manifest that was pushed meanwhile may use them.
        let used = self.mark(repository)?;
        for digest in removed.iter().filter(|digest| used.contains(digest)) {
            self.link(repository, digest)?;
        }
        Ok(())
    }

    pub(super) fn sweep(
        &self,
        live: &HashSet<Digest>,
        grace: Duration,
        options: GcOptions,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        let mut aside = Vec::new();
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let folder = self.path(&["blobs", algorithm.name()]);
            for prefix in list(&folder)? {
                for hex in list(&folder.join(&prefix))? {
                    let path = folder.join(&prefix).join(&hex);
                    let digest = format!("{}:{hex}", algorithm.name()).parse::<Digest>();
                    let is_live = digest.as_ref().is_ok_and(|digest| live.contains(digest));
                    if is_live || !is_older(&path, grace) {
                        continue;
                    }
                    match digest {
                        Ok(digest) if !options.dry_run => aside.extend(self.set_aside(&digest)?),
                        // What is not named by a digest is no blob.
                        Err(_) if !options.dry_run => collected.remove(&path)?,
                        _ => collected.count(&path),
                    }
                }
            }
        }
        self.remove_aside(&aside, grace, collected)
    }

    /// Removes blobs that were set aside, except those that a manifest needs or a client used meanwhile.
    fn remove_aside(
        &self,
        aside: &[SetAside],
        grace: Duration,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        if aside.is_empty() {
            return Ok(());
        }
        let mut live = HashSet::new();
        for repository in self.repositories()? {
            live.extend(self.mark(&repository)?);
        }
        for blob in aside {
            if live.contains(&blob.digest) || !is_older(&blob.path, grace) {
                self.put_back(blob)?;
            } else {
                collected.remove(&blob.path)?;
            }
        }
        Ok(())
    }

    /// Removes uploads that no client has continued for a day.
    pub(crate) fn drop_abandoned_uploads(&self) -> Result<(), StoreError> {
        let options = GcOptions {
            dry_run: false,
            untagged: false,
            grace: None,
        };
        self.collect_uploads(ABANDONED, options, &mut Collected::default())
    }

    /// Removes all uploads, which an earlier process left: for stores that no client writes to.
    pub fn drop_uploads(&self) -> Result<(), StoreError> {
        let options = GcOptions {
            dry_run: false,
            untagged: false,
            grace: None,
        };
        self.collect_uploads(Duration::ZERO, options, &mut Collected::default())
    }

    fn collect_uploads(
        &self,
        grace: Duration,
        options: GcOptions,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        let folder = self.path(&["uploads"]);
        for id in list(&folder)? {
            let upload = folder.join(&id);
            if !is_older(&upload.join("data"), grace) || !is_older(&upload, grace) {
                continue;
            }
            collected.uploads += 1;
            collected.bytes +=
                fs_err::metadata(upload.join("data")).map_or(0, |metadata| metadata.len());
            if !options.dry_run {
                remove_upload(&upload)?;
            }
        }
        Ok(())
    }
}

impl Collected {
    fn count(&mut self, path: &Path) {
        self.blobs += 1;
        self.bytes += fs_err::metadata(path).map_or(0, |metadata| metadata.len());
    }

    fn remove(&mut self, path: &Path) -> Result<(), StoreError> {
        self.count(path);
        remove(path).map(drop)
    }
}

/// Removes the folder of an upload, which its client may continue or end meanwhile: nothing is added to it under another name.
fn remove_upload(upload: &Path) -> Result<(), StoreError> {
    let removed = upload.with_extension("removed");
    let result = fs_err::rename(upload, &removed).and_then(|()| fs_err::remove_dir_all(&removed));
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io(upload, error))
        }
        _ => Ok(()),
    }
}

/// Whether a file was not modified within a period. A missing file counts as old.
fn is_older(path: &Path, period: Duration) -> bool {
    let modified = fs_err::metadata(path).and_then(|metadata| metadata.modified());
    match modified {
        Ok(modified) => modified.elapsed().is_ok_and(|age| age >= period),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_that_ends_during_collection_is_not_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let upload = folder.path().join("upload");
        fs_err::create_dir(&upload).unwrap();
        fs_err::write(upload.join("data"), "x").unwrap();
        for _ in 0..2 {
            remove_upload(&upload).unwrap();
            assert!(list(folder.path()).unwrap().is_empty());
        }
    }
}
