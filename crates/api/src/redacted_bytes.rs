//! Credentials in a spec: base64 on the wire, never printed.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A credential. Base64 in JSON, like the data of a Secret. `Debug` does not show it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedactedBytes(Vec<u8>);

impl RedactedBytes {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The credential itself.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RedactedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Serialize for RedactedBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for RedactedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The errors would print the credential, or a part of it.
        let text = String::deserialize(deserializer);
        let text = text.map_err(|_| de::Error::custom("a credential is not a string"))?;
        let bytes = STANDARD.decode(text.trim());
        let bytes = bytes.map_err(|_| de::Error::custom("a credential is not base64-encoded"))?;
        Ok(Self(bytes))
    }
}

impl JsonSchema for RedactedBytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RedactedBytes".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "byte"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_base64_in_json_and_is_not_printed() {
        let password: RedactedBytes = serde_json::from_str("\"MTIzNDU2\"").unwrap();
        assert_eq!(password.expose(), b"123456");
        assert_eq!(serde_json::to_string(&password).unwrap(), "\"MTIzNDU2\"");
        assert_eq!(format!("{password:?}"), "[redacted]");
        let error = serde_json::from_str::<RedactedBytes>("\"not base64!\"").unwrap_err();
        assert!(!error.to_string().contains("not base64!"), "{error}");
    }

    #[test]
    fn a_credential_of_another_type_is_not_printed() {
        for json in ["123456", "1.5", "true", "[\"hunter2\"]", "{\"a\": 4711}"] {
            let error = serde_json::from_str::<RedactedBytes>(json).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("a credential is not a string"), "{error}");
            let parts = ["123456", "1.5", "true", "hunter2", "4711"];
            assert!(!parts.iter().any(|part| error.contains(part)), "{error}");
        }
    }
}
