//! Garbage collection. It may run during pushes, also in another process than the server.
//!
//! A blob is removed only if no manifest refers to it and no client used it within the grace period. A push that finds a
//! blob renews it, so the push has that time to refer to it; a manifest whose blobs are gone is rejected. A manifest that is
//! accepted while garbage is collected keeps its blobs, also without a grace period, and one that is pushed with a tag stays.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use outrigger_oci::{Algorithm, Digest, Manifest};

use super::collected::SetAside;
use super::gc_report::{Collected, Content, Kept};
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

/// Content that manifests refer to, and those manifests.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// By way of manifests that a tag reaches
    tagged: HashSet<Digest>,
    all: HashSet<Digest>,
}

impl Store {
    pub fn collect(&self, options: GcOptions) -> Result<Collected, StoreError> {
        let grace = options.grace.unwrap_or(self.shared.options.grace);
        let mut collected = Collected::default();
        let mut live = Live::default();
        if !options.dry_run {
            self.restore_collected()?;
        }
        for repository in self.repositories()? {
            let tagged = self.reached_by_tags(&repository, self.manifests(&repository)?)?;
            let removed = self.collect_untagged(&repository, &tagged, options, &mut collected)?;
            let used = self.mark(&repository, &removed)?;
            if !options.dry_run {
                self.collect_links(&repository, &used, grace)?;
            }
            live.tagged.extend(self.content_of(&tagged)?);
            live.all.extend(used);
        }
        self.sweep(&live, grace, options, &mut collected)?;
        self.collect_uploads(grace, options, &mut collected)?;
        Ok(collected)
    }

    /// All content that the manifests of a repository refer to, and the manifests themselves, without those that a dry run
    /// would remove.
    fn mark(
        &self,
        repository: &str,
        removed: &HashSet<Digest>,
    ) -> Result<HashSet<Digest>, StoreError> {
        let manifests = self.manifests(repository)?;
        let kept: HashSet<Digest> = manifests
            .into_iter()
            .filter(|digest| !removed.contains(digest))
            .collect();
        self.content_of(&kept)
    }

    /// What manifests refer to, and the manifests themselves.
    fn content_of(&self, manifests: &HashSet<Digest>) -> Result<HashSet<Digest>, StoreError> {
        let mut used = HashSet::new();
        for digest in manifests {
            if let Some(manifest) = self.parsed(digest)? {
                used.extend(manifest.blobs().map(|blob| blob.digest.clone()));
            }
            used.insert(digest.clone());
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

    /// The manifests of a repository that a tag reaches: by its name, in an index, or as the subject of another one among
    /// `manifests`.
    fn reached_by_tags(
        &self,
        repository: &str,
        manifests: Vec<Digest>,
    ) -> Result<HashSet<Digest>, StoreError> {
        let mut reached = HashSet::new();
        let mut subjects: BTreeMap<Digest, Vec<Digest>> = BTreeMap::new();
        let mut queue: Vec<Digest> = Vec::new();
        for tag in self.tags(repository)? {
            queue.extend(self.resolve_tag(repository, &tag));
        }
        for digest in manifests {
            if let Some(Manifest {
                subject: Some(subject),
                ..
            }) = self.parsed(&digest)?
            {
                subjects.entry(subject.digest).or_default().push(digest);
            }
        }
        while let Some(digest) = queue.pop() {
            if reached.contains(&digest) {
                continue;
            }
            if let Some(manifest) = self.parsed(&digest)? {
                queue.extend(manifest.children().map(|child| child.digest.clone()));
            }
            queue.extend(subjects.get(&digest).into_iter().flatten().cloned());
            reached.insert(digest);
        }
        Ok(reached)
    }

    /// Counts the manifests of a repository, and removes those that no tag reaches if that is asked for. Returns what was, or
    /// would be, removed.
    fn collect_untagged(
        &self,
        repository: &str,
        tagged: &HashSet<Digest>,
        options: GcOptions,
        collected: &mut Collected,
    ) -> Result<HashSet<Digest>, StoreError> {
        let grace = options.grace.unwrap_or(self.shared.options.grace);
        let kept = &mut collected.kept;
        let mut untagged = Vec::new();
        for digest in self.manifests(repository)? {
            if tagged.contains(&digest) {
                kept.tagged.manifests += 1;
            } else if !options.untagged {
                kept.untagged.manifests += 1;
            } else if !is_older(&self.manifest_path(repository, &digest), grace) {
                kept.recent.manifests += 1;
            } else {
                untagged.push(digest);
            }
        }
        if options.dry_run {
            collected.removed.manifests += untagged.len() as u64;
            return Ok(untagged.into_iter().collect());
        }
        for digest in &untagged {
            self.set_manifest_aside(repository, digest)?;
        }
        self.remove_manifests_aside(repository, untagged, collected)
    }

    /// Removes manifests that were set aside, except those that a tag reaches meanwhile. Returns what was removed.
    pub(super) fn remove_manifests_aside(
        &self,
        repository: &str,
        aside: Vec<Digest>,
        collected: &mut Collected,
    ) -> Result<HashSet<Digest>, StoreError> {
        let mut removed = HashSet::new();
        if aside.is_empty() {
            return Ok(removed);
        }
        let mut manifests = self.manifests(repository)?;
        manifests.extend(aside.iter().cloned());
        let tagged = self.reached_by_tags(repository, manifests)?;
        for digest in aside {
            if tagged.contains(&digest) {
                collected.kept.tagged.manifests += 1;
                self.put_manifest_back(repository, &digest)?;
            } else if self.remove_manifest_aside(repository, &digest)? {
                collected.removed.manifests += 1;
                removed.insert(digest);
            }
        }
        Ok(removed)
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
        let used = self.mark(repository, &HashSet::new())?;
        for digest in removed.iter().filter(|digest| used.contains(digest)) {
            self.link(repository, digest)?;
        }
        Ok(())
    }

    pub(super) fn sweep(
        &self,
        live: &Live,
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
                    let why = digest.as_ref().ok();
                    let why =
                        why.and_then(|digest| live.why_kept(digest, options, &mut collected.kept));
                    if let Some(kept) = why {
                        kept.add_blob(&path);
                        continue;
                    }
                    if !is_older(&path, grace) {
                        collected.kept.recent.add_blob(&path);
                        continue;
                    }
                    match digest {
                        Ok(digest) if !options.dry_run => aside.extend(self.set_aside(&digest)?),
                        // What is not named by a digest is no blob.
                        Err(_) if !options.dry_run => remove_blob(&path, collected)?,
                        _ => collected.removed.add_blob(&path),
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
            live.extend(self.mark(&repository, &HashSet::new())?);
        }
        for blob in aside {
            if live.contains(&blob.digest) || !is_older(&blob.path, grace) {
                collected.kept.recent.add_blob(&blob.path);
                self.put_back(blob)?;
            } else {
                remove_blob(&blob.path, collected)?;
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
            let data = upload.join("data");
            if !is_older(&data, grace) || !is_older(&upload, grace) {
                collected.kept.recent.add_upload(&data);
                continue;
            }
            collected.removed.add_upload(&data);
            if !options.dry_run {
                remove_upload(&upload)?;
            }
        }
        Ok(())
    }
}

impl Live {
    /// The counts of the reason why content is kept. `None` if nothing refers to it.
    fn why_kept<'k>(
        &self,
        digest: &Digest,
        options: GcOptions,
        kept: &'k mut Kept,
    ) -> Option<&'k mut Content> {
        match (self.tagged.contains(digest), self.all.contains(digest)) {
            (true, _) => Some(&mut kept.tagged),
            (false, false) => None,
            // A manifest without a tag that was not removed is too young for that.
            (false, true) if options.untagged => Some(&mut kept.recent),
            (false, true) => Some(&mut kept.untagged),
        }
    }
}

fn remove_blob(path: &Path, collected: &mut Collected) -> Result<(), StoreError> {
    collected.removed.add_blob(path);
    remove(path).map(drop)
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
