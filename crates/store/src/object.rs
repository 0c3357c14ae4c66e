//! One stored version of an object: the JSON as clients get it, and its parsed metadata.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::encoded::EncodedObject;
use super::key::Key;
use super::metadata::Metadata;

/// An immutable version of an object.
#[derive(Clone)]
pub struct Object {
    key: Key,
    revision: u64,
    created_revision: u64,
    bytes: Bytes,
    /// The offset of the digits of `metadata.resourceVersion` in `bytes`.
    revision_at: u32,
    metadata: Arc<Metadata>,
}

/// Why stored bytes cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the resource version is not at its offset")]
    Revision,
    #[error("failed to parse the metadata")]
    Metadata(#[source] serde_json::Error),
}

impl Object {
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The revision of this version, which is its `metadata.resourceVersion`.
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

    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether `encoded` is the same object, apart from the resource version.
    pub fn has_content_of(&self, encoded: &EncodedObject) -> bool {
        let (head, tail) = self.around_revision();
        encoded.parts() == (head, tail)
    }

    /// The first version of an object.
    pub(super) fn create(key: Key, encoded: &EncodedObject, revision: u64) -> Self {
        Self::from_encoded(key, encoded, revision, revision)
    }

    /// The next version, which shares equal metadata with this one.
    pub(super) fn replace(&self, encoded: &EncodedObject, revision: u64) -> Self {
        let mut next =
            Self::from_encoded(self.key.clone(), encoded, self.created_revision, revision);
        if next.metadata == self.metadata {
            next.metadata = Arc::clone(&self.metadata);
        }
        next
    }

    /// The bytes that this version needs in addition to `other`.
    pub(crate) fn weight_beside(&self, other: &Self) -> usize {
        let metadata = if Arc::ptr_eq(&self.metadata, &other.metadata) {
            0
        } else {
            self.metadata.weight()
        };
        size_of::<Self>() + self.bytes.len() + metadata
    }

    pub(super) fn from_encoded(
        key: Key,
        encoded: &EncodedObject,
        created_revision: u64,
        revision: u64,
    ) -> Self {
        let (head, tail) = encoded.parts();
        Self {
            key,
            revision,
            created_revision,
            bytes: splice(head, revision, tail),
            revision_at: encoded.revision_at(),
            metadata: Arc::clone(encoded.metadata()),
        }
    }

    /// The same object at another revision, for DELETED events.
    #[must_use]
    pub fn at_revision(&self, revision: u64) -> Self {
        let (head, tail) = self.around_revision();
        Self {
            revision,
            bytes: splice(head, revision, tail),
            ..self.clone()
        }
    }

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

    fn encoded() -> EncodedObject {
        EncodedObject::new(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "resourceVersion": "77", "uid": "u-1"},
            "spec": {"resourceVersion": "99"},
        }))
        .unwrap()
    }

    #[test]
    fn inserts_the_revision_into_the_bytes() {
        for revision in [1, 9, 10, 12_345, u64::MAX] {
            let object = Object::from_encoded(key(), &encoded(), 1, revision);
            let value: Value = serde_json::from_slice(object.bytes()).unwrap();
            assert_eq!(
                value["metadata"]["resourceVersion"],
                json!(revision.to_string())
            );
            assert_eq!(value["spec"]["resourceVersion"], json!("99"));
        }
    }

    #[test]
    fn at_revision_changes_only_the_revision() {
        let object = Object::from_encoded(key(), &encoded(), 9, 9);
        let later = object.at_revision(1000);
        assert_eq!(
            later.bytes(),
            Object::from_encoded(key(), &encoded(), 9, 1000).bytes()
        );
        assert_eq!((later.revision(), later.created_revision()), (1000, 9));
        assert!(later.has_content_of(&encoded()));
    }

    #[test]
    fn decodes_stored_bytes_or_rejects_them() {
        let object = Object::from_encoded(key(), &encoded(), 3, 4);
        let back = Object::decode(key(), 4, 3, object.revision_at(), object.bytes()).unwrap();
        assert_eq!(back.bytes(), object.bytes());
        assert_eq!(back.metadata(), object.metadata());
        assert!(Object::decode(key(), 5, 3, object.revision_at(), object.bytes()).is_err());
        assert!(Object::decode(key(), 4, 3, 4_000_000, object.bytes()).is_err());
        assert!(Object::decode(key(), 4, 3, 0, b"4").is_err());
    }

    #[test]
    fn detects_a_change_of_content() {
        let object = Object::from_encoded(key(), &encoded(), 3, 4);
        let other = EncodedObject::new(&json!({"metadata": {"name": "web"}})).unwrap();
        assert!(!object.has_content_of(&other));
    }

    #[test]
    fn debug_omits_the_content() {
        let object = Object::from_encoded(key(), &encoded(), 3, 4);
        assert!(!format!("{object:?}").contains("u-1"));
    }
}
