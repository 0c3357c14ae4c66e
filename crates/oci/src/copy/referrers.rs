//! Signatures, attestations and other referrers: those of the referrers API, and the tags that cosign writes.

use std::collections::HashSet;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::tag_lists::TagList;
use super::{Copier, Source, Tree};
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_INDEX, RawManifest};
use crate::reference::{Reference, Repository};

/// The suffixes of the tags that cosign derives from a digest.
pub(super) const COSIGN: &[&str] = &["sig", "att", "sbom"];

/// Referrers of one image that are copied.
pub(super) const MAX_REFERRERS: usize = 1000;

/// An image of the source: where it is, its manifest, and the tags that its repository has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) from: &'a Repository,
    pub(super) root: &'a RawManifest,
    pub(super) tags: &'a TagList,
}

impl Copier {
    /// Finds what refers to an image, and the tags of its repository. Neither changes the target.
    pub(super) async fn find_referrers(
        &self,
        source: &Source,
        image: &Reference,
        root: &Digest,
    ) -> Result<(Vec<Descriptor>, TagList), Error> {
        let from = image.repository();
        let Source::Registry(client) = source else {
            return Ok((source.referrers(from, root).await?, TagList::unknown()));
        };
        let (listed, tags) = tokio::try_join!(
            client.listed_referrers(from, root),
            self.shared.tags.of(client, image)
        )?;
        let found = match listed {
            Some(found) => found,
            None if tags.may_have(&root.tag()) => client.tagged_referrers(from, root).await?,
            None => Vec::new(),
        };
        Ok((found, tags))
    }

    /// Copies what refers to an image, and what refers to that. `found` are the referrers of the image itself.
    pub(super) async fn copy_referrers(
        &self,
        source: &Source,
        image: Subject<'_>,
        found: Vec<Descriptor>,
        to: &Repository,
    ) -> Result<(), Error> {
        let digest = &image.root.digest;
        let mut seen = HashSet::from([digest.clone()]);
        let mut queue = vec![(digest.clone(), found)];
        while let Some((subject, found)) = queue.pop() {
            let new = self.missing(&found, to, &subject).await?;
            for referrer in &new {
                let manifest = source.manifest(image.from, referrer).await?;
                let tree = Tree::read(source, image.from, manifest).await?;
                let target = to.with_digest(referrer.digest.clone());
                self.push_tree(source, image.from, &tree, &target).await?;
            }
            if !new.is_empty() {
                self.tag_referrers(to, &subject, &new).await?;
            }
            // Those that the target has may have got referrers since, or an earlier copy was interrupted before them.
            for referrer in found {
                if !seen.insert(referrer.digest.clone()) {
                    continue;
                }
                if seen.len() > MAX_REFERRERS {
                    let (what, limit) = (digest.to_string(), MAX_REFERRERS);
                    return Err(Error::TooManyManifests { what, limit });
                }
                let further = source.referrers(image.from, &referrer.digest).await?;
                queue.push((referrer.digest, further));
            }
        }
        self.copy_cosign(source, image, to).await
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
        let tag = subject.tag();
        client.push_manifest(&to.with_tag(&tag)?, &index).await
    }

    /// Copies the tags that cosign writes for an image. Those of its platforms are copied if that takes no
    /// requests that find nothing.
    async fn copy_cosign(
        &self,
        source: &Source,
        image: Subject<'_>,
        to: &Repository,
    ) -> Result<(), Error> {
        let children = image.root.parsed.children().map(|child| &child.digest);
        let is_cheap = image.tags.is_known() || matches!(source, Source::Archive(_));
        let children = children.filter(|_| is_cheap);
        let signed = std::iter::once(&image.root.digest).chain(children);
        let tags = signed.flat_map(|digest| {
            let of = digest.tag();
            COSIGN.iter().map(move |suffix| format!("{of}.{suffix}"))
        });
        let copies = tags
            .filter(|tag| image.tags.may_have(tag))
            .map(|tag| self.copy_tag(source, image.from, tag, to));
        let copies: Vec<_> = copies.collect();
        let results = stream::iter(copies).buffer_unordered(COSIGN.len());
        results.try_collect::<()>().await
    }

    /// Copies one tag if it exists.
    async fn copy_tag(
        &self,
        source: &Source,
        from: &Repository,
        tag: String,
        to: &Repository,
    ) -> Result<(), Error> {
        let target = to.with_tag(&tag)?;
        let found = match source.resolve(&from.with_tag(&tag)?).await {
            Ok(found) => found.manifest,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        let there = self.shared.target.pushed_digest(&target).await?;
        if there.as_ref() == Some(&found.digest) {
            return Ok(());
        }
        let tree = Tree::read(source, from, found).await?;
        self.push_tree(source, from, &tree, &target).await
    }
}
