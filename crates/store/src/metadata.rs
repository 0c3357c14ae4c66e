//! The metadata that lists, selectors and the garbage collector read, parsed once and kept compact.
//!
//! The rest of an object is not parsed. Name and namespace are in the key.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Parsed metadata of one object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Metadata {
    uid: Box<str>,
    /// Sorted by key.
    labels: Box<[(Box<str>, Box<str>)]>,
    owner_references: Box<[OwnerReference]>,
    finalizers: Box<[Box<str>]>,
    deletion_timestamp: Option<Box<str>>,
}

/// `metadata.ownerReferences[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    #[serde(default)]
    pub api_version: Box<str>,
    #[serde(default)]
    pub kind: Box<str>,
    #[serde(default)]
    pub name: Box<str>,
    #[serde(default)]
    pub uid: Box<str>,
    #[serde(default)]
    pub controller: Option<bool>,
    #[serde(default)]
    pub block_owner_deletion: Option<bool>,
}

impl Metadata {
    /// Empty if the object has none.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Sorted by key.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (&**key, &**value))
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self
            .labels
            .binary_search_by(|(candidate, _)| (**candidate).cmp(key))
            .ok()?;
        Some(&self.labels[at].1)
    }

    pub fn owner_references(&self) -> &[OwnerReference] {
        &self.owner_references
    }

    pub fn finalizers(&self) -> &[Box<str>] {
        &self.finalizers
    }

    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.deletion_timestamp.as_deref()
    }

    /// The approximate size in bytes, without the rare parts.
    pub(super) fn weight(&self) -> usize {
        let labels = self.labels.iter();
        let labels: usize = labels.map(|(key, value)| key.len() + value.len()).sum();
        size_of::<Self>() + self.uid.len() + labels + size_of_val(&*self.labels)
    }

    pub(super) fn from_value(metadata: &serde_json::Value) -> serde_json::Result<Self> {
        Wire::deserialize(metadata).map(Self::from)
    }

    /// Parses the metadata of a serialized object and skips the rest.
    pub(super) fn from_object_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Envelope {
            metadata: Wire,
        }
        serde_json::from_slice::<Envelope>(bytes).map(|envelope| envelope.metadata.into())
    }
}

/// The parsed fields of `metadata`. Null is the same as absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    uid: Option<Box<str>>,
    labels: Option<BTreeMap<Box<str>, Box<str>>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<Box<str>>>,
    deletion_timestamp: Option<Box<str>>,
}

impl From<Wire> for Metadata {
    fn from(wire: Wire) -> Self {
        Self {
            uid: wire.uid.unwrap_or_default(),
            labels: wire.labels.unwrap_or_default().into_iter().collect(),
            owner_references: wire.owner_references.unwrap_or_default().into(),
            finalizers: wire.finalizers.unwrap_or_default().into(),
            deletion_timestamp: wire.deletion_timestamp,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_the_same_from_bytes_and_from_a_value() {
        let object = json!({
            "kind": "Pod",
            "metadata": {
                "name": "web", "uid": "u-1", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"b": "2", "a": "1"},
                "finalizers": ["x/y"],
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u-0", "controller": true}],
            },
            "spec": {"deep": [[[{}]]]},
        });
        let metadata = Metadata::from_value(&object["metadata"]).unwrap();
        assert_eq!(
            metadata,
            Metadata::from_object_bytes(object.to_string().as_bytes()).unwrap()
        );
        assert_eq!(metadata.uid(), "u-1");
        assert_eq!(metadata.label("b"), Some("2"));
        assert_eq!(metadata.label("c"), None);
        assert_eq!(metadata.labels().next(), Some(("a", "1")));
        assert_eq!(metadata.finalizers().len(), 1);
        assert_eq!(metadata.deletion_timestamp(), Some("2026-01-01T00:00:00Z"));
        let owner = &metadata.owner_references()[0];
        assert_eq!((&*owner.uid, owner.controller), ("u-0", Some(true)));
        assert_eq!(owner.block_owner_deletion, None);
    }

    #[test]
    fn null_is_the_same_as_absent() {
        let metadata = json!({"labels": null, "finalizers": null, "uid": null});
        assert_eq!(
            Metadata::from_value(&metadata).unwrap(),
            Metadata::default()
        );
    }
}
