//! Signatures, attestations and other referrers: those of the referrers API, and the tags that cosign writes.

use super::{Copier, Source, Tree};
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_INDEX, RawManifest};
use crate::reference::Repository;

/// The suffixes of the tags that cosign derives from a digest.
const COSIGN: &[&str] = &["sig", "att", "sbom"];

/// Referrers of one image that are copied.
const MAX_REFERRERS: usize = 1000;

impl Copier {
    /// Copies what refers to an image, and what refers to that.
    pub(super) async fn copy_referrers(
        &self,
        source: &Source,
        from: &Repository,
        digest: &Digest,
        to: &Repository,
    ) -> Result<(), Error> {
        let mut queue = vec![digest.clone()];
        let mut copied = 0;
        while let Some(subject) = queue.pop() {
            let found = source.referrers(from, &subject).await?;
            let new = self.missing(&found, to, &subject).await?;
            for referrer in &new {
                copied += 1;
                if copied > MAX_REFERRERS {
                    let (what, limit) = (digest.to_string(), MAX_REFERRERS);
                    return Err(Error::TooManyManifests { what, limit });
                }
                let manifest = source.manifest(from, referrer).await?;
                let tree = Tree::read(source, from, manifest).await?;
                let target = to.with_digest(referrer.digest.clone());
                self.push_tree(source, from, &tree, &target).await?;
            }
            if !new.is_empty() {
                self.tag_referrers(to, &subject, &new).await?;
            }
            queue.extend(new.into_iter().map(|referrer| referrer.digest));
        }
        self.copy_cosign(source, from, digest, to).await
    }

    /// The referrers that the target does not have.
    async fn missing(
        &self,
        found: &[Descriptor],
        to: &Repository,
        subject: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.shared.target.referrers(to, subject).await?;
        let is_new =
            |referrer: &&Descriptor| !known.iter().any(|other| other.digest == referrer.digest);
        Ok(found.iter().filter(is_new).cloned().collect())
    }

    /// A registry without the referrers API finds them by a tag, which clients maintain.
    async fn tag_referrers(
        &self,
        to: &Repository,
        subject: &Digest,
        new: &[Descriptor],
    ) -> Result<(), Error> {
        let client = &self.shared.target;
        let mut known = client.referrers(to, subject).await?;
        let is_known =
            |referrer: &Descriptor| known.iter().any(|other| other.digest == referrer.digest);
        if new.iter().all(is_known) {
            return Ok(());
        }
        known.extend(
            new.iter()
                .filter(|referrer| !is_known(referrer))
                .cloned()
                .collect::<Vec<_>>(),
        );
        let index = Manifest {
            schema_version: 2,
            media_type: Some(OCI_INDEX.to_owned()),
            manifests: Some(known),
            ..Manifest::default()
        };
        let invalid = |source| Error::InvalidManifest {
            what: subject.to_string(),
            source,
        };
        let bytes = serde_json::to_vec(&index)
            .map_err(|error| invalid(crate::InvalidManifest::Json(error)))?;
        let index = RawManifest::parse(bytes, Some(OCI_INDEX)).map_err(invalid)?;
        let tag = format!("{}-{}", subject.algorithm().name(), subject.hex());
        client.push_manifest(&to.with_tag(&tag)?, &index).await
    }

    async fn copy_cosign(
        &self,
        source: &Source,
        from: &Repository,
        digest: &Digest,
        to: &Repository,
    ) -> Result<(), Error> {
        let copies = COSIGN.iter().map(|suffix| async move {
            let tag = format!("{}-{}.{suffix}", digest.algorithm().name(), digest.hex());
            let found = match source.resolve(&from.with_tag(&tag)?).await {
                Ok(found) => found.manifest,
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(error),
            };
            let target = to.with_tag(&tag)?;
            if self.shared.target.manifest_digest(&target).await?.as_ref() == Some(&found.digest) {
                return Ok(());
            }
            let tree = Tree::read(source, from, found).await?;
            self.push_tree(source, from, &tree, &target).await
        });
        futures::future::try_join_all(copies).await.map(drop)
    }
}
