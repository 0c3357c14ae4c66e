//! One stored version of an object: the JSON that clients get, byte for byte, and its parsed metadata.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::draft::Draft;
use super::key::Key;
use super::metadata::Metadata;

/// One version of one object. It never changes.
#[derive(Clone)]
pub struct Object {
    key: Key,
    revision: u64,
    created_revision: u64,
    bytes: Bytes,
    /// Where the digits of `metadata.resourceVersion` begin in `bytes`.
    revision_at: u32,
    metadata: Arc<Metadata>,
}

/// Bytes that are not an object of this store.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes do not hold the revision that they should.
    #[error("the resource version is not where it should be")]
    Revision,
    /// The metadata cannot be read.
    #[error("failed to read the metadata")]
    Metadata(#[source] serde_json::Error),
}

impl Object {
    /// Where it lives.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The revision that wrote this version; the same number as `metadata.resourceVersion`.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that created the object.
    pub fn created_revision(&self) -> u64 {
        self.created_revision
    }

    /// The whole object as JSON.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What lists and selectors look at.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether `draft` would change nothing but the resource version.
    pub fn has_content_of(&self, draft: &Draft) -> bool {
        let (head, tail) = self.around_revision();
        draft.parts() == (head, tail)
    }

    /// The first version of an object: what `draft` becomes at `revision`.
    pub(super) fn create(key: Key, draft: &Draft, revision: u64) -> Self {
        Self::from_draft(key, draft, revision, revision)
    }

    /// The next version: what `draft` becomes at `revision`. What is the same is shared with this version.
    pub(super) fn replace(&self, draft: &Draft, revision: u64) -> Self {
        let mut next = Self::from_draft(self.key.clone(), draft, self.created_revision, revision);
        if next.metadata == self.metadata {
            next.metadata = Arc::clone(&self.metadata);
        }
        next
    }

    /// What keeping this version beside `other` costs, in bytes.
    pub(crate) fn weight_beside(&self, other: &Self) -> usize {
        let metadata = if Arc::ptr_eq(&self.metadata, &other.metadata) {
            0
        } else {
            self.metadata.weight()
        };
        size_of::<Self>() + self.bytes.len() + metadata
    }

    pub(super) fn from_draft(
        key: Key,
        draft: &Draft,
        created_revision: u64,
        revision: u64,
    ) -> Self {
        let (head, tail) = draft.parts();
        Self {
            key,
            revision,
            created_revision,
            bytes: splice(head, revision, tail),
            revision_at: draft.revision_at(),
            metadata: Arc::clone(draft.metadata()),
        }
    }

    /// The same content at another revision: how a deletion reports the last state.
    pub fn at_revision(&self, revision: u64) -> Self {
        let (head, tail) = self.around_revision();
        Self {
            revision,
            bytes: splice(head, revision, tail),
            ..self.clone()
        }
    }

    /// Reads back what was stored.
    pub(super) fn decode(
        key: Key,
        revision: u64,
        created_revision: u64,
        revision_at: u32,
        json: &[u8],
    ) -> Result<Self, DecodeError> {
        let digits = revision.to_string();
        json.get(revision_at as usize..)
            .filter(|tail| tail.starts_with(digits.as_bytes()))
            .ok_or(DecodeError::Revision)?;
        let metadata = Metadata::from_object_bytes(json).map_err(DecodeError::Metadata)?;
        Ok(Self {
            key,
            revision,
            created_revision,
            bytes: Bytes::copy_from_slice(json),
            revision_at,
            metadata: Arc::new(metadata),
        })
    }

    pub(super) fn revision_at(&self) -> u32 {
        self.revision_at
    }

    fn around_revision(&self) -> (&[u8], &[u8]) {
        let at = self.revision_at as usize;
        let digits = self.revision.checked_ilog10().unwrap_or(0) as usize + 1;
        (&self.bytes[..at], &self.bytes[at + digits..])
    }
}

fn splice(head: &[u8], revision: u64, tail: &[u8]) -> Bytes {
    let digits = revision.to_string();
    let mut bytes = Vec::with_capacity(head.len() + digits.len() + tail.len());
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(digits.as_bytes());
    bytes.extend_from_slice(tail);
    bytes.into()
}

impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold secrets.
        formatter
            .debug_struct("Object")
            .field("key", &self.key)
            .field("revision", &self.revision)
            .field("created_revision", &self.created_revision)
            .field("length", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn key() -> Key {
        Key::parse("//pods/default/web").unwrap()
    }

    fn draft() -> Draft {
        Draft::new(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "resourceVersion": "77", "uid": "u-1"},
            "spec": {"resourceVersion": "99"},
        }))
        .unwrap()
    }

    #[test]
    fn the_revision_is_in_the_bytes() {
        for revision in [1, 9, 10, 12_345, u64::MAX] {
            let object = Object::from_draft(key(), &draft(), 1, revision);
            let value: Value = serde_json::from_slice(object.bytes()).unwrap();
            assert_eq!(
                value["metadata"]["resourceVersion"],
                json!(revision.to_string())
            );
            assert_eq!(value["spec"]["resourceVersion"], json!("99"));
        }
    }

    #[test]
    fn another_revision_changes_only_the_revision() {
        let object = Object::from_draft(key(), &draft(), 9, 9);
        let later = object.at_revision(1000);
        assert_eq!(
            later.bytes(),
            Object::from_draft(key(), &draft(), 9, 1000).bytes()
        );
        assert_eq!((later.revision(), later.created_revision()), (1000, 9));
        assert!(later.has_content_of(&draft()));
    }

    #[test]
    fn stored_bytes_are_read_back_or_refused() {
        let object = Object::from_draft(key(), &draft(), 3, 4);
        let back = Object::decode(key(), 4, 3, object.revision_at(), object.bytes()).unwrap();
        assert_eq!(back.bytes(), object.bytes());
        assert_eq!(back.metadata(), object.metadata());
        assert!(Object::decode(key(), 5, 3, object.revision_at(), object.bytes()).is_err());
        assert!(Object::decode(key(), 4, 3, 4_000_000, object.bytes()).is_err());
        assert!(Object::decode(key(), 4, 3, 0, b"4").is_err());
    }

    #[test]
    fn a_change_of_content_is_seen() {
        let object = Object::from_draft(key(), &draft(), 3, 4);
        let other = Draft::new(&json!({"metadata": {"name": "web"}})).unwrap();
        assert!(!object.has_content_of(&other));
    }

    #[test]
    fn debug_does_not_show_the_content() {
        let object = Object::from_draft(key(), &draft(), 3, 4);
        assert!(!format!("{object:?}").contains("u-1"));
    }
}
