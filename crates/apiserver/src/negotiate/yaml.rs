//! What YAML bodies are minded for.

use serde_json::Value;

/// The first document. The error reads as that of the real server.
pub(crate) fn from_yaml(bytes: &[u8]) -> Result<Value, String> {
    outrigger_goyaml::parse_json(bytes).map_err(|error| error.full_text())
}

/// What a strict reader has against a document that can be read: keys that a map has more than once.
pub(crate) fn strict_problem(bytes: &[u8]) -> Option<outrigger_goyaml::Error> {
    outrigger_goyaml::check_strict(bytes).err()
}

/// The same as warnings, one for each key.
pub(crate) fn strict_warnings(problem: &outrigger_goyaml::Error) -> Vec<String> {
    match problem {
        outrigger_goyaml::Error::RepeatedKeys(keys) => keys.clone(),
        other => vec![other.to_string()],
    }
}
