//! Manifests, tags and referrers of repositories.

use std::collections::BTreeSet;

use outrigger_oci::{Algorithm, Descriptor, Digest, Manifest, RawManifest};

use super::{Store, StoreError, list, remove};

#[derive(Debug)]
pub(crate) struct StoredManifest {
    pub(crate) digest: Digest,
    pub(crate) media_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// A manifest that refers to a subject.
pub(crate) type Referrer = Descriptor;

impl Store {
    /// Stores a manifest. All blobs that it refers to must be in the repository, with the sizes that it says.
    pub(crate) fn put_manifest(
        &self,
        repository: &str,
        bytes: Vec<u8>,
        media_type: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<RawManifest, StoreError> {
        let manifest = RawManifest::parse_with(algorithm, bytes, media_type)?;
        self.check_references(repository, &manifest.parsed)?;
        self.put_content(&manifest.bytes, algorithm)?;
        let path = self.manifest_path(repository, &manifest.digest);
        self.write(&path, manifest.media_type.as_bytes())?;
        // Garbage collection may have removed a blob since it was checked, but none after the manifest refers to it.
        if let Err(error) = self.check_references(repository, &manifest.parsed) {
            remove(&path)?;
            return Err(error);
        }
        if !self.blob_path(&manifest.digest).exists() {
            self.put_content(&manifest.bytes, algorithm)?;
        }
        if let Some(subject) = &manifest.parsed.subject {
            let descriptor = referrer(&manifest);
            let text = serde_json::to_vec(&descriptor)
                .map_err(|error| StoreError::ManifestInvalid(error.to_string()))?;
            self.write(
                &self.referrer_path(repository, &subject.digest, &manifest.digest),
                &text,
            )?;
        }
        self.changed();
        Ok(manifest)
    }

    /// Stores a manifest and gives it tags.
    ///
    /// Until it has one, garbage collection may remove it. That sets manifests aside before it reads the tags again, so one
    /// that is in its place after its tags were written stays there.
    pub(crate) fn put_tagged(
        &self,
        repository: &str,
        bytes: &[u8],
        media_type: Option<&str>,
        algorithm: Algorithm,
        tags: &[String],
    ) -> Result<RawManifest, StoreError> {
        loop {
            let put = self.put_manifest(repository, bytes.to_vec(), media_type, algorithm);
            let manifest = match put {
                Ok(manifest) => manifest,
                Err(error) => {
                    self.untag(repository, &Digest::with(algorithm, bytes), tags)?;
                    return Err(error);
                }
            };
            for tag in tags {
                self.tag(repository, tag, &manifest.digest)?;
            }
            let path = self.manifest_path(repository, &manifest.digest);
            if tags.is_empty() || path.exists() {
                return Ok(manifest);
            }
        }
    }

    /// Removes tags that name a manifest which is not there.
    fn untag(&self, repository: &str, digest: &Digest, tags: &[String]) -> Result<(), StoreError> {
        if self.manifest_path(repository, digest).exists() {
            return Ok(());
        }
        for tag in tags {
            let names = self.resolve_tag(repository, tag);
            if names.is_ok_and(|found| found == *digest) {
                remove(&self.repository(repository).join("_tags").join(tag))?;
            }
        }
        Ok(())
    }

    fn check_references(&self, repository: &str, manifest: &Manifest) -> Result<(), StoreError> {
        for blob in manifest.blobs().filter(|blob| !blob.is_foreign()) {
            let unknown = || StoreError::ManifestBlobUnknown(blob.digest.to_string());
            let found = self
                .open_blob(repository, &blob.digest)
                .map_err(|_| unknown())?;
            if found.size != blob.size {
                let text = format!(
                    "blob {} has {} bytes, not {}",
                    blob.digest, found.size, blob.size
                );
                return Err(StoreError::ManifestInvalid(text));
            }
        }
        Ok(())
    }

    pub(crate) fn tag(
        &self,
        repository: &str,
        tag: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        let path = self.repository(repository).join("_tags").join(tag);
        self.write(&path, digest.to_string().as_bytes())?;
        self.changed();
        Ok(())
    }

    /// The digest of a tag.
    pub(crate) fn resolve_tag(&self, repository: &str, tag: &str) -> Result<Digest, StoreError> {
        let path = self.repository(repository).join("_tags").join(tag);
        let text = match fs_err::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::ManifestUnknown(tag.to_owned()));
            }
            Err(error) => return Err(StoreError::io(&path, error)),
        };
        text.trim()
            .parse()
            .map_err(|_| StoreError::ManifestUnknown(tag.to_owned()))
    }

    pub(crate) fn manifest(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<StoredManifest, StoreError> {
        let unknown = || StoreError::ManifestUnknown(digest.to_string());
        let path = self.manifest_path(repository, digest);
        let media_type = fs_err::read_to_string(&path).map_err(|_| unknown())?;
        let bytes = self.read_content(digest)?.ok_or_else(unknown)?;
        // A manifest is small, so it is verified each time: what the disk changed is not served.
        if Digest::with(digest.algorithm(), &bytes) != *digest {
            tracing::error!("manifest {digest} of {repository} is corrupt");
            return Err(unknown());
        }
        let digest = digest.clone();
        let media_type = match media_type.as_str() {
            // A power failure may have emptied the file.
            "" => RawManifest::parse(bytes.clone(), None)?.media_type,
            _ => media_type,
        };
        Ok(StoredManifest {
            digest,
            media_type,
            bytes,
        })
    }

    pub(crate) fn delete_tag(&self, repository: &str, tag: &str) -> Result<(), StoreError> {
        if !remove(&self.repository(repository).join("_tags").join(tag))? {
            return Err(StoreError::ManifestUnknown(tag.to_owned()));
        }
        self.changed();
        Ok(())
    }

    /// Deletes a manifest, and all tags that name it.
    pub(crate) fn delete_manifest(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        self.manifest(repository, digest)?;
        self.drop_manifest(repository, digest)
    }

    /// Removes a manifest that may be damaged, all tags that name it, and what it says of its subject.
    pub(super) fn drop_manifest(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        for tag in self.tags(repository)? {
            if self
                .resolve_tag(repository, &tag)
                .is_ok_and(|found| found == *digest)
            {
                remove(&self.repository(repository).join("_tags").join(tag))?;
            }
        }
        self.forget_subject(repository, digest)?;
        remove(&self.manifest_path(repository, digest))?;
        self.changed();
        Ok(())
    }

    /// Removes what a manifest says of its subject.
    pub(super) fn forget_subject(
        &self,
        repository: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        let bytes = self.read_content(digest)?;
        let parsed = bytes.and_then(|bytes| Manifest::parse(&bytes, None).ok());
        if let Some(manifest) = parsed {
            if let Some(subject) = manifest.subject {
                remove(&self.referrer_path(repository, &subject.digest, digest))?;
            }
        } else {
            // Its subject is not known, so it is looked for.
            let folder = self.repository(repository).join("_referrers");
            for subject in list(&folder)? {
                remove(&folder.join(subject).join(file_name(digest)))?;
            }
        }
        Ok(())
    }

    /// All tags, sorted.
    pub(crate) fn tags(&self, repository: &str) -> Result<Vec<String>, StoreError> {
        let mut tags = list(&self.repository(repository).join("_tags"))?;
        tags.sort_unstable();
        Ok(tags)
    }

    pub(crate) fn exists(&self, repository: &str) -> bool {
        let folder = self.repository(repository);
        ["_blobs", "_manifests", "_tags"]
            .iter()
            .any(|part| folder.join(part).exists())
    }

    pub(crate) fn referrers(
        &self,
        repository: &str,
        subject: &Digest,
    ) -> Result<Vec<Referrer>, StoreError> {
        let folder = self
            .repository(repository)
            .join("_referrers")
            .join(file_name(subject));
        let mut names = list(&folder)?;
        names.sort_unstable();
        let read =
            |name: &String| serde_json::from_slice(&fs_err::read(folder.join(name)).ok()?).ok();
        Ok(names.iter().filter_map(read).collect())
    }

    /// The digests of all manifests of a repository.
    pub(super) fn manifests(&self, repository: &str) -> Result<Vec<Digest>, StoreError> {
        let folder = self.repository(repository).join("_manifests");
        let mut digests = Vec::new();
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let names = list(&folder.join(algorithm.name()))?;
            digests.extend(
                names
                    .iter()
                    .filter_map(|hex| format!("{}:{hex}", algorithm.name()).parse().ok()),
            );
        }
        Ok(digests)
    }

    /// The names of all repositories, sorted.
    pub(crate) fn repositories(&self) -> Result<Vec<String>, StoreError> {
        let mut names = BTreeSet::new();
        self.find_repositories("", &mut names)?;
        Ok(names.into_iter().collect())
    }

    fn find_repositories(
        &self,
        prefix: &str,
        names: &mut BTreeSet<String>,
    ) -> Result<(), StoreError> {
        for name in list(&self.repository(prefix))? {
            if name.starts_with('_') {
                names.insert(prefix.to_owned());
                continue;
            }
            let path = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            self.find_repositories(&path, names)?;
        }
        Ok(())
    }

    pub(super) fn manifest_path(&self, repository: &str, digest: &Digest) -> std::path::PathBuf {
        let algorithm = digest.algorithm().name();
        self.repository(repository)
            .join("_manifests")
            .join(algorithm)
            .join(digest.hex())
    }

    fn referrer_path(
        &self,
        repository: &str,
        subject: &Digest,
        digest: &Digest,
    ) -> std::path::PathBuf {
        self.repository(repository)
            .join("_referrers")
            .join(file_name(subject))
            .join(file_name(digest))
    }
}

fn file_name(digest: &Digest) -> String {
    format!("{}-{}", digest.algorithm().name(), digest.hex())
}

/// The descriptor of a manifest in the answer of the referrers API.
fn referrer(manifest: &RawManifest) -> Referrer {
    let parsed = &manifest.parsed;
    let own = parsed.artifact_type.clone().filter(|kind| !kind.is_empty());
    let artifact_type = if parsed.is_index() {
        own
    } else {
        parsed.kind().map(str::to_owned)
    };
    Referrer {
        artifact_type,
        annotations: parsed.annotations.clone(),
        ..manifest.descriptor()
    }
}
