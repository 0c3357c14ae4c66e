//! The nesting limit of objects, which is the same for JSON, YAML, protobuf and the results of patches.
//!
//! What is within the limit can be stored, and what is stored can be processed by recursion: `serde_json` parses 127
//! levels, so that lists, watch events and tables of objects have room too.

mod stored;

use serde_json::Value;

pub use crate::schema::MAX_DEPTH;
pub use stored::{Stored, parse_stored};

/// The limit for a request body: an object has managed fields in addition, which nest a few levels deeper.
pub const MAX_BODY_DEPTH: usize = 120;

/// The message for what nests deeper.
pub const EXCEEDED: &str = "exceeded max depth of 100";

/// Whether an object nests deeper than [`MAX_DEPTH`]. Managed fields are as deep as the fields they are about.
pub fn exceeds_limit(object: &Value) -> bool {
    let Value::Object(fields) = object else {
        return is_deeper(object, MAX_DEPTH);
    };
    fields.iter().any(|(name, value)| match value {
        Value::Object(metadata) if name == "metadata" => metadata
            .iter()
            .any(|(name, value)| name != "managedFields" && is_deeper(value, MAX_DEPTH - 2)),
        value => is_deeper(value, MAX_DEPTH - 1),
    })
}

/// Whether a value has more than `limit` nested lists and maps.
fn is_deeper(value: &Value, limit: usize) -> bool {
    match (value, limit.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => true,
        (Value::Array(items), Some(limit)) => items.iter().any(|item| is_deeper(item, limit)),
        (Value::Object(fields), Some(limit)) => fields.values().any(|item| is_deeper(item, limit)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (1..depth).fold(json!([]), |value, _| json!([value]))
    }

    #[test]
    fn counts_all_levels_but_those_of_managed_fields() {
        assert!(!exceeds_limit(&json!({"spec": nested(MAX_DEPTH - 1)})));
        assert!(exceeds_limit(&json!({"spec": nested(MAX_DEPTH)})));
        let metadata = |name: &str| json!({"metadata": {name: nested(MAX_DEPTH)}});
        assert!(!exceeds_limit(&metadata("managedFields")));
        assert!(exceeds_limit(&metadata("labels")));
        assert!(EXCEEDED.ends_with(&format!(" {MAX_DEPTH}")));
    }
}
