//! A serialized object without its resource version, which the writer assigns.
//!
//! The caller serializes on its own task; the writer only inserts the digits of the revision at a known offset.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::metadata::Metadata;

/// The largest object in bytes; above the limit of a request, because defaults and managed fields are added to it.
pub const MAX_OBJECT_BYTES: usize = 8 * 1024 * 1024;

/// The initial capacity of the buffer.
const TYPICAL_BYTES: usize = 2048;

const RESOURCE_VERSION: &str = "resourceVersion";

/// The first fields of every object, in this order, so that lists can cut off the first two without parsing.
const FIRST: [&str; 3] = ["kind", "apiVersion", "metadata"];

/// A serialized object whose resource version is empty.
#[derive(Clone)]
pub struct EncodedObject {
    bytes: Vec<u8>,
    revision_at: u32,
    metadata: Arc<Metadata>,
}

/// Why a value cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
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
    #[error("an object of {length} bytes exceeds the limit of {MAX_OBJECT_BYTES}")]
    TooLarge {
        /// Serialized size.
        length: usize,
    },
}

impl EncodedObject {
    /// Serializes `object`. The writer replaces its `metadata.resourceVersion`.
    pub fn new(object: &Value) -> Result<Self, EncodeError> {
        let fields = object.as_object().ok_or(EncodeError::NotAnObject)?;
        let metadata = fields
            .get("metadata")
            .filter(|metadata| metadata.is_object())
            .ok_or(EncodeError::NotAnObject)?;
        let parsed = Metadata::from_value(metadata).map_err(EncodeError::Metadata)?;
        let mut encoder = Encoder {
            bytes: Vec::with_capacity(TYPICAL_BYTES),
            revision_at: 0,
        };
        encoder.object(fields).map_err(EncodeError::Serialize)?;
        let length = encoder.bytes.len();
        if length > MAX_OBJECT_BYTES {
            return Err(EncodeError::TooLarge { length });
        }
        Ok(Self {
            bytes: encoder.bytes,
            revision_at: u32::try_from(encoder.revision_at)
                .map_err(|_| EncodeError::TooLarge { length })?,
            metadata: Arc::new(parsed),
        })
    }

    /// The length in bytes, without the digits of the resource version.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes before and after the digits of the resource version.
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

impl fmt::Debug for EncodedObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may hold secrets.
        formatter
            .debug_struct("EncodedObject")
            .field("length", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Serializes an object and records the offset of its resource version.
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

    /// Inserts the resource version where it belongs in sorted order.
    fn metadata(&mut self, metadata: &Map<String, Value>) -> serde_json::Result<()> {
        self.bytes.push(b'{');
        let mut pending = true;
        for (name, value) in metadata
            .iter()
            .filter(|(name, _)| *name != RESOURCE_VERSION)
        {
            if pending && name.as_str() > RESOURCE_VERSION {
                self.resource_version()?;
                pending = false;
            }
            self.name(name)?;
            serde_json::to_writer(&mut self.bytes, value)?;
        }
        if pending {
            self.resource_version()?;
        }
        self.bytes.push(b'}');
        Ok(())
    }

    fn resource_version(&mut self) -> serde_json::Result<()> {
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
        let encoded = EncodedObject::new(object).unwrap();
        let (head, tail) = encoded.parts();
        let text = [head, b"7", tail].concat();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn inserts_the_resource_version_in_sorted_order() {
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
    fn rejects_a_value_without_metadata() {
        for value in [
            json!([]),
            json!({}),
            json!({"metadata": null}),
            json!({"metadata": []}),
        ] {
            assert!(matches!(
                EncodedObject::new(&value),
                Err(EncodeError::NotAnObject)
            ));
        }
        let wrong = json!({"metadata": {"labels": ["a"]}});
        assert!(matches!(
            EncodedObject::new(&wrong),
            Err(EncodeError::Metadata(_))
        ));
    }

    #[test]
    fn rejects_an_object_that_is_too_large() {
        let value = json!({"metadata": {}, "data": "x".repeat(MAX_OBJECT_BYTES)});
        assert!(matches!(
            EncodedObject::new(&value),
            Err(EncodeError::TooLarge { .. })
        ));
    }
}
