//! YAML request bodies.

use outrigger_goyaml::Error;
use outrigger_structural::depth::{MAX_BODY_DEPTH, MAX_DEPTH};
use serde_json::Value;

/// Parses the first document.
pub(crate) fn from_yaml(bytes: &[u8]) -> Result<Value, Error> {
    let parsed = outrigger_goyaml::parse_json_to_depth(bytes, MAX_BODY_DEPTH);
    parsed.map_err(|error| match error {
        // The limit that clients know.
        Error::MaxDepth(_) => Error::MaxDepth(MAX_DEPTH),
        other => other,
    })
}

/// The strict decoding error of a document that parses: duplicate keys.
pub(crate) fn strict_error(bytes: &[u8]) -> Option<Error> {
    outrigger_goyaml::check_strict(bytes).err()
}

/// A strict decoding error as warnings, one for each key.
pub(crate) fn strict_warnings(error: &Error) -> Vec<String> {
    match error {
        Error::RepeatedKeys(keys) => keys.clone(),
        other => vec![other.to_string()],
    }
}
