//! YAML request bodies.

use outrigger_structural::depth::MAX_BODY_DEPTH;
use serde_json::Value;

/// Parses the first document.
pub(crate) fn from_yaml(bytes: &[u8]) -> Result<Value, outrigger_goyaml::Error> {
    outrigger_goyaml::parse_json_to_depth(bytes, MAX_BODY_DEPTH)
}

/// The strict decoding error of a document that parses: duplicate keys.
pub(crate) fn strict_error(bytes: &[u8]) -> Option<outrigger_goyaml::Error> {
    outrigger_goyaml::check_strict(bytes).err()
}

/// A strict decoding error as warnings, one for each key.
pub(crate) fn strict_warnings(error: &outrigger_goyaml::Error) -> Vec<String> {
    match error {
        outrigger_goyaml::Error::RepeatedKeys(keys) => keys.clone(),
        other => vec![other.to_string()],
    }
}
