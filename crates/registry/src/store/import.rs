//! Imports content without HTTP: the installer writes a package into the store of the registry that it serves.

use std::collections::BTreeMap;

use outrigger_oci::{
    Algorithm, Digest, InvalidReference, OCI_MANIFEST, RawManifest, Repository, chart_manifest,
    tag_of_version,
};

use super::upload::Upload;
use super::{Store, StoreError};
use crate::handlers::{CHART_ORIGIN, CHARTS};

/// A name under which no registry is reached, to check paths and tags.
const ANY_HOST: &str = "registry.invalid";

/// A blob that is being imported. One that is dropped before it is complete is never served, and removed later.
#[derive(Debug)]
pub struct BlobImport {
    upload: Upload,
    digest: Digest,
    repositories: Vec<String>,
}

/// A chart archive with its `Chart.yaml` as JSON.
#[derive(Debug, Clone, Copy)]
pub struct ChartImport<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub archive: &'a [u8],
    pub metadata: &'a [u8],
}

impl Store {
    /// Makes a blob that the store has part of repositories. False if the store does not have it, or with another size.
    pub fn reuse_blob(
        &self,
        repositories: &[String],
        digest: &Digest,
        size: u64,
    ) -> Result<bool, StoreError> {
        if self
            .open_content(digest)?
            .is_none_or(|blob| blob.size != size)
        {
            return Ok(false);
        }
        for repository in repositories {
            if !self.mount(repository, None, digest)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins to import a blob for repositories, of which there must be one.
    pub fn import_blob(
        &self,
        repositories: &[String],
        digest: &Digest,
    ) -> Result<BlobImport, StoreError> {
        let first = repositories.first().map_or("", String::as_str);
        check_name(first, None)?;
        Ok(BlobImport {
            upload: self.start_upload(first)?,
            digest: digest.clone(),
            repositories: repositories.to_vec(),
        })
    }

    /// Stores a manifest, whose blobs and manifests must be in the repository.
    pub fn import_manifest(
        &self,
        repository: &str,
        manifest: &RawManifest,
    ) -> Result<(), StoreError> {
        check_name(repository, None)?;
        let algorithm = manifest.digest.algorithm();
        let kind = Some(manifest.media_type.as_str());
        self.put_manifest(repository, manifest.bytes.clone(), kind, algorithm)
            .map(drop)
    }

    /// Whether a repository has a manifest.
    pub fn has_manifest(&self, repository: &str, digest: &Digest) -> bool {
        self.manifest(repository, digest).is_ok()
    }

    /// The digest of a tag, if the repository has it.
    pub fn tagged(&self, repository: &str, tag: &str) -> Option<Digest> {
        self.resolve_tag(repository, tag).ok()
    }

    /// Gives a manifest of a repository a tag.
    pub fn import_tag(
        &self,
        repository: &str,
        tag: &str,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        check_name(repository, Some(tag))?;
        self.manifest(repository, digest)?;
        self.tag(repository, tag, digest)
    }

    /// Stores a chart of the platform. One of the same name and version is replaced.
    pub fn import_chart(&self, chart: ChartImport<'_>) -> Result<(), StoreError> {
        let repository = format!("{CHARTS}/{}", chart.name);
        let tag = tag_of_version(chart.version);
        check_name(&repository, Some(&tag))?;
        let annotations = BTreeMap::from([(CHART_ORIGIN.to_owned(), "system".to_owned())]);
        let manifest = chart_manifest(chart.metadata, chart.archive, annotations)?;
        if self.tagged(&repository, &tag).as_ref() == Some(&manifest.digest) {
            return Ok(());
        }
        self.put_blob(&repository, chart.metadata)?;
        self.put_blob(&repository, chart.archive)?;
        let (kind, algorithm) = (Some(OCI_MANIFEST), Algorithm::Sha256);
        self.put_tagged(&repository, &manifest.bytes, kind, algorithm, &[tag])
            .map(drop)
    }
}

impl BlobImport {
    /// Appends content.
    pub fn write(&self, bytes: bytes::Bytes) -> Result<(), StoreError> {
        let mut bytes = Some(bytes);
        self.upload.append(0, &mut || bytes.take()).map(drop)
    }

    /// Verifies the content, and makes it part of the repositories.
    pub fn finish(self) -> Result<(), StoreError> {
        let Some((first, others)) = self.repositories.split_first() else {
            return self.upload.cancel();
        };
        self.upload.commit(first, &self.digest)?;
        for repository in others {
            self.upload.store().mount(repository, None, &self.digest)?;
        }
        Ok(())
    }
}

/// Names become paths.
fn check_name(repository: &str, tag: Option<&str>) -> Result<(), StoreError> {
    let invalid = |error: InvalidReference| StoreError::ManifestInvalid(error.to_string());
    let repository = Repository::new(ANY_HOST, repository).map_err(invalid)?;
    match tag {
        Some(tag) => repository.with_tag(tag).map(drop).map_err(invalid),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;

    #[test]
    fn a_blob_is_imported_once_for_all_repositories() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let (digest, names) = (Digest::of(b"hello"), ["a/b".to_owned(), "c".to_owned()]);
        assert!(!store.reuse_blob(&names, &digest, 5).unwrap());
        let import = store.import_blob(&names, &digest).unwrap();
        import.write("hel".into()).unwrap();
        import.write("lo".into()).unwrap();
        import.finish().unwrap();
        assert!(store.reuse_blob(&names, &digest, 5).unwrap());
        assert!(!store.reuse_blob(&names, &digest, 6).unwrap());
        for name in &names {
            assert_eq!(store.open_blob(name, &digest).unwrap().size, 5);
        }
    }

    #[test]
    fn content_that_was_changed_and_names_that_leave_the_store_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let digest = Digest::of(b"hello");
        let import = store.import_blob(&["a".to_owned()], &digest).unwrap();
        import.write("help!".into()).unwrap();
        let error = import.finish().unwrap_err();
        assert!(matches!(error, StoreError::DigestInvalid { .. }));
        assert!(store.import_blob(&["../a".to_owned()], &digest).is_err());
        assert!(store.import_tag("a", "../x", &digest).is_err());
    }
}
