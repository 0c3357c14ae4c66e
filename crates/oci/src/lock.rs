//! The lock file: which digest each image of a set had when it was resolved. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::reference::{InvalidReference, Reference};

/// Images and their digests, by their full names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lock {
    version: u8,
    images: BTreeMap<String, Digest>,
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidLock {
    #[error("the lock file is not valid")]
    Json(#[source] serde_json::Error),
    #[error("the lock file has version {0}, which this release does not know")]
    Version(u8),
    #[error("the lock file has an invalid name")]
    Name(#[source] InvalidReference),
}

const VERSION: u8 = 1;

impl Lock {
    pub fn new() -> Self {
        Self {
            version: VERSION,
            images: BTreeMap::new(),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidLock> {
        let lock: Self = serde_json::from_slice(bytes).map_err(InvalidLock::Json)?;
        if lock.version != VERSION {
            return Err(InvalidLock::Version(lock.version));
        }
        for name in lock.images.keys() {
            name.parse::<Reference>().map_err(InvalidLock::Name)?;
        }
        Ok(lock)
    }

    /// The file, always the same for the same images.
    pub fn to_text(&self) -> String {
        // A map of strings is always valid JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn insert(&mut self, image: &Reference, digest: Digest) {
        self.images.insert(name(image), digest);
    }

    pub fn get(&self, image: &Reference) -> Option<&Digest> {
        self.images.get(&name(image))
    }

    /// All images, pinned to their digests.
    pub fn images(&self) -> impl Iterator<Item = Reference> + '_ {
        let pinned = |(name, digest): (&String, &Digest)| {
            Some(name.parse::<Reference>().ok()?.pinned(digest.clone()))
        };
        self.images.iter().filter_map(pinned)
    }

    pub fn len(&self) -> usize {
        self.images.len()
    }

    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The closure check: which of the images that something may run are not in the set. An image with a digest is in
    /// the set if the digest is the same.
    pub fn missing<'a>(
        &self,
        needed: impl IntoIterator<Item = &'a Reference>,
    ) -> Vec<&'a Reference> {
        let is_missing = |image: &&Reference| match (self.get(image), image.digest()) {
            (None, _) => true,
            (Some(locked), Some(wanted)) => locked != wanted,
            (Some(_), None) => false,
        };
        needed.into_iter().filter(is_missing).collect()
    }
}

/// The key of an image: its name without the digest, unless that is all it has.
fn name(image: &Reference) -> String {
    match image.tag() {
        Some(tag) => format!("{}:{tag}", image.repository()),
        None => image.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_are_not_in_the_set_are_missing() {
        let image = |text: &str| text.parse::<Reference>().unwrap();
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        let mut lock = Lock::new();
        lock.insert(&image("nginx:1"), one.clone());
        lock.insert(&image(&format!("quay.io/a/b@{two}")), two.clone());
        let lock = Lock::parse(lock.to_text().as_bytes()).unwrap();
        let needed = [
            image("docker.io/library/nginx:1"),
            image("nginx:1").pinned(one),
            image("nginx:1").pinned(two.clone()),
            image("nginx:2"),
            image(&format!("quay.io/a/b@{two}")),
        ];
        let missing: Vec<String> = lock
            .missing(&needed)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            missing,
            [
                format!("docker.io/library/nginx:1@{two}"),
                "docker.io/library/nginx:2".to_owned()
            ]
        );
        assert_eq!(lock.images().count(), 2);
    }

    #[test]
    fn unknown_versions_and_fields_are_rejected() {
        for text in [
            r#"{"version":2,"images":{}}"#,
            r#"{"version":1,"images":{},"x":1}"#,
            r#"{"version":1,"images":{"A":"sha256:0"}}"#,
            "",
        ] {
            assert!(Lock::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
