//! What is attached to an image, for archives: referrers, what refers to those, and the tags that cosign writes.

use std::collections::HashSet;

use super::referrers::{COSIGN, MAX_REFERRERS};
use super::source::Source;
use super::tree::Tree;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::{Reference, Repository};

/// A referrer, or an artifact with a tag of its own.
#[derive(Debug, Clone)]
pub struct Attached {
    /// The tag that names its subject, unless a field of its manifest does
    pub tag: Option<String>,
    pub tree: Tree,
}

impl Source {
    /// What is attached to an image, which was found at this name.
    pub async fn attached(
        &self,
        image: &Reference,
        root: &RawManifest,
    ) -> Result<Vec<Attached>, Error> {
        let from = image.repository();
        let mut attached = self.referrers_below(from, &root.digest).await?;
        let tags = match self {
            Self::Registry(client) => client.few_tags(from).await?,
            Self::Archive(_) => None,
        };
        let tags = tags.filter(|tags| image.tag().is_none_or(|tag| tags.contains(tag)));
        let children = root.parsed.children().map(|child| &child.digest);
        let children = children.filter(|_| tags.is_some() || matches!(self, Self::Archive(_)));
        for digest in std::iter::once(&root.digest).chain(children) {
            for suffix in COSIGN {
                let tag = format!("{}.{suffix}", digest.tag());
                if tags.as_ref().is_some_and(|tags| !tags.contains(&tag)) {
                    continue;
                }
                let found = match self.resolve(&from.with_tag(&tag)?).await {
                    Ok(found) => found.manifest,
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error),
                };
                let tree = Tree::read(self, from, found).await?;
                let tag = Some(tag);
                attached.push(Attached { tag, tree });
            }
        }
        Ok(attached)
    }

    /// Whether an image has signatures or other referrers. Those of an index do not apply to a part of it.
    pub async fn has_attached(&self, image: &Reference, root: &Digest) -> Result<bool, Error> {
        let from = image.repository();
        if !self.referrers(from, root).await?.is_empty() {
            return Ok(true);
        }
        for suffix in COSIGN {
            let tag = format!("{}.{suffix}", root.tag());
            match self.resolve(&from.with_tag(&tag)?).await {
                Ok(_) => return Ok(true),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The referrers of an image, and what refers to them.
    async fn referrers_below(
        &self,
        from: &Repository,
        root: &Digest,
    ) -> Result<Vec<Attached>, Error> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([root.clone()]);
        let mut queue = vec![root.clone()];
        while let Some(subject) = queue.pop() {
            let referrers: Vec<Descriptor> = self.referrers(from, &subject).await?;
            for referrer in referrers {
                if !seen.insert(referrer.digest.clone()) {
                    continue;
                }
                if seen.len() > MAX_REFERRERS {
                    let (what, limit) = (root.to_string(), MAX_REFERRERS);
                    return Err(Error::TooManyManifests { what, limit });
                }
                let manifest = self.manifest(from, &referrer).await?;
                let tree = Tree::read(self, from, manifest).await?;
                found.push(Attached { tag: None, tree });
                queue.push(referrer.digest);
            }
        }
        Ok(found)
    }
}
