//! An object that is ready to be stored but for its resource version, which only the writer knows.
//!
//! The caller serializes on its own task. The writer puts the digits of the revision into the gap and does not
//! parse anything.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::metadata::Metadata;

/// Largest object in bytes; far above what clients may send.
pub const MAX_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// What most objects fit into.
const TYPICAL_BYTES: usize = 2048;

const RESOURCE_VERSION: &str = "resourceVersion";

/// What stands at the beginning of every object, in this order: lists leave out the first two without parsing.
const FIRST: [&str; 3] = ["kind", "apiVersion", "metadata"];

/// A serialized object with a gap where the resource version goes.
#[derive(Clone)]
pub struct Draft {
    bytes: Vec<u8>,
    revision_at: u32,
    metadata: Arc<Metadata>,
}

/// Why a value cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// Not a JSON object, or one without an object `metadata`.
    #[error("the value is not an object with metadata")]
    NotAnObject,
    /// A metadata field has a wrong type.
    #[error("failed to read the metadata of the object")]
    Metadata(#[source] serde_json::Error),
    /// The value cannot be written as JSON.
    #[error("failed to serialize the object")]
    Serialize(#[source] serde_json::Error),
    /// Larger than [`MAX_OBJECT_BYTES`].
    #[error("an object of {length} bytes is larger than {MAX_OBJECT_BYTES}")]
    TooLarge {
        /// Serialized size.
        length: usize,
    },
}

impl Draft {
    /// Serializes `object`. Its own `metadata.resourceVersion`, if any, is replaced when it is stored.
    pub fn new(object: &Value) -> Result<Self, DraftError> {
        let fields = object.as_object().ok_or(DraftError::NotAnObject)?;
        let metadata = fields
            .get("metadata")
            .filter(|metadata| metadata.is_object())
            .ok_or(DraftError::NotAnObject)?;
        let parsed = Metadata::from_value(metadata).map_err(DraftError::Metadata)?;
        let mut encoder = Encoder {
            bytes: Vec::with_capacity(TYPICAL_BYTES),
            revision_at: 0,
        };
        encoder.object(fields).map_err(DraftError::Serialize)?;
        let length = encoder.bytes.len();
        if length > MAX_OBJECT_BYTES {
            return Err(DraftError::TooLarge { length });
        }
        Ok(Self {
            bytes: encoder.bytes,
            revision_at: u32::try_from(encoder.revision_at)
                .map_err(|_| DraftError::TooLarge { length })?,
            metadata: Arc::new(parsed),
        })
    }

    /// Bytes of the object without the digits of its resource version.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// What comes before and after the digits of the resource version.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(self.revision_at as usize)
    }

    pub(super) fn revision_at(&self) -> u32 {
        self.revision_at
    }

    pub(super) fn metadata(&self) -> &Arc<Metadata> {
        &self.metadata
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold secrets.
        formatter
            .debug_struct("Draft")
            .field("length", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Writes an object and remembers where the gap is.
struct Encoder {
    bytes: Vec<u8>,
    revision_at: usize,
}

impl Encoder {
    fn object(&mut self, fields: &Map<String, Value>) -> serde_json::Result<()> {
        self.bytes.push(b'{');
        let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
        let rest = fields
            .iter()
            .filter(|(name, _)| !FIRST.contains(&name.as_str()));
        for (name, value) in first.chain(rest) {
            self.name(name)?;
            match (name.as_str(), value) {
                ("metadata", Value::Object(metadata)) => self.metadata(metadata)?,
                _ => serde_json::to_writer(&mut self.bytes, value)?,
            }
        }
        self.bytes.push(b'}');
        Ok(())
    }

    /// In the order of the map, the resource version where it would be in a sorted one.
    fn metadata(&mut self, metadata: &Map<String, Value>) -> serde_json::Result<()> {
        self.bytes.push(b'{');
        let mut pending = true;
        for (name, value) in metadata
            .iter()
            .filter(|(name, _)| *name != RESOURCE_VERSION)
        {
            if pending && name.as_str() > RESOURCE_VERSION {
                self.gap()?;
                pending = false;
            }
            self.name(name)?;
            serde_json::to_writer(&mut self.bytes, value)?;
        }
        if pending {
            self.gap()?;
        }
        self.bytes.push(b'}');
        Ok(())
    }

    fn gap(&mut self) -> serde_json::Result<()> {
        self.name(RESOURCE_VERSION)?;
        self.bytes.push(b'"');
        self.revision_at = self.bytes.len();
        self.bytes.push(b'"');
        Ok(())
    }

    fn name(&mut self, name: &str) -> serde_json::Result<()> {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
        serde_json::to_writer(&mut self.bytes, name)?;
        self.bytes.push(b':');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: &Value, expected: &str) {
        let draft = Draft::new(object).unwrap();
        let (head, tail) = draft.parts();
        let text = [head, b"7", tail].concat();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn the_gap_is_where_the_field_sorts() {
        check(
            &json!({"metadata": {}}),
            r#"{"metadata":{"resourceVersion":"7"}}"#,
        );
        check(
            &json!({"kind": "A", "metadata": {"uid": "u", "name": "n"}, "spec": {}}),
            r#"{"kind":"A","metadata":{"name":"n","resourceVersion":"7","uid":"u"},"spec":{}}"#,
        );
        check(
            &json!({"metadata": {"name": "n", "resourceVersion": "1"}}),
            r#"{"metadata":{"name":"n","resourceVersion":"7"}}"#,
        );
    }

    #[test]
    fn a_value_without_metadata_is_refused() {
        for value in [
            json!([]),
            json!({}),
            json!({"metadata": null}),
            json!({"metadata": []}),
        ] {
            assert!(matches!(Draft::new(&value), Err(DraftError::NotAnObject)));
        }
        let wrong = json!({"metadata": {"labels": ["a"]}});
        assert!(matches!(Draft::new(&wrong), Err(DraftError::Metadata(_))));
    }

    #[test]
    fn a_huge_object_is_refused() {
        let value = json!({"metadata": {}, "data": "x".repeat(MAX_OBJECT_BYTES)});
        assert!(matches!(
            Draft::new(&value),
            Err(DraftError::TooLarge { .. })
        ));
    }
}
