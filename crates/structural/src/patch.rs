//! Patches: JSON patch, JSON merge patch and strategic merge patch.
//!
//! Each takes an object and the bytes of a request, and gives the new object with what strict field validation
//! has to say about the patch itself. Decoding, pruning and validating the result is the caller's.

use serde_json::{Map, Value};

use crate::schema::{MAX_DEPTH, SchemaRef, strict};

mod json;
mod merge;
mod strategic;

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch cannot be read: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch has too many operations: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch cannot be applied to this object: 422. A real server does not tell clients why; the reason is
    /// for logs.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// Anything else that is wrong with a patch: 500, as a real server has it.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// The HTTP status.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooLarge(_) => 413,
            Self::Unprocessable(_) => 422,
            Self::Internal(_) => 500,
        }
    }
}

/// How a patch is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Unknown and repeated fields are told (field validation `Strict` or `Warn`).
    Strict,
    /// Field validation `Ignore`.
    Loose,
}

/// A patched object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    pub object: Value,
    /// Repeated and unknown fields of the patch.
    pub complaints: Vec<String>,
}

/// RFC 6902, with the liberties that a real server takes.
pub fn json_patch(object: Value, patch: &[u8], reading: Reading) -> Result<Patched, Error> {
    let (operations, complaints) = match reading {
        Reading::Strict => {
            let prefix = "error decoding patch: ";
            let (value, mut complaints) = strict::parse(patch).map_err(|e| bad(prefix, &e))?;
            let operations = list(value, "[]handlers.jsonPatchOp").map_err(|e| bad(prefix, &e))?;
            complaints.extend(json::unknown_fields(&operations));
            let complaints = complaints
                .into_iter()
                .map(|text| format!("json patch {text}"));
            (operations, complaints.collect())
        }
        Reading::Loose => {
            let (value, _) = strict::parse(patch).map_err(|e| bad("", &e))?;
            (
                list(value, "jsonpatch.Patch").map_err(|e| bad("", &e))?,
                Vec::new(),
            )
        }
    };
    let object = json::apply(object, &operations)?;
    Ok(Patched { object, complaints })
}

/// RFC 7386.
pub fn merge_patch(object: Value, patch: &[u8], reading: Reading) -> Result<Patched, Error> {
    let (patch, complaints) = match reading {
        Reading::Strict => {
            let prefix = "error decoding patch: ";
            let (value, complaints) = strict::parse(patch).map_err(|e| bad(prefix, &e))?;
            if value.is_null() {
                return Err(bad("", "Invalid JSON Patch"));
            }
            (map(value).map_err(|e| bad(prefix, &e))?, complaints)
        }
        Reading::Loose => {
            let value = strict::parse(patch).map(|(value, _)| value);
            let patch = value
                .and_then(map)
                .map_err(|_| bad("", "Invalid JSON Patch"))?;
            (patch, Vec::new())
        }
    };
    let mut object = object;
    merge::apply(&mut object, patch);
    Ok(Patched { object, complaints })
}

/// A strategic merge patch, which knows the lists of built-in kinds.
pub fn strategic_merge_patch(
    object: Value,
    patch: &[u8],
    schema: SchemaRef<'_>,
    reading: Reading,
) -> Result<Patched, Error> {
    let (value, complaints) = strict::parse(patch).map_err(|e| bad("", &e))?;
    let patch = map(value).map_err(|e| bad("", &e))?;
    let original = match object {
        Value::Object(original) => original,
        _ => Map::new(),
    };
    let object = strategic::apply(original, patch, schema)?;
    Ok(Patched {
        object: Value::Object(object),
        complaints: match reading {
            Reading::Strict => complaints,
            Reading::Loose => Vec::new(),
        },
    })
}

fn bad(prefix: &str, problem: &str) -> Error {
    Error::BadRequest(format!("{prefix}{problem}"))
}

fn map(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "map[string]interface {}")),
    }
}

fn list(value: Value, go_type: &str) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        other => Err(mismatch(&other, go_type)),
    }
}

fn mismatch(value: &Value, go_type: &str) -> String {
    let found = strict::json_type(value);
    format!("json: cannot unmarshal {found} into Go value of type {go_type}")
}

/// How deep a value nests, at most one more than the limit.
fn depth(value: &Value) -> usize {
    fn below(value: &Value, left: usize) -> usize {
        if left == 0 {
            return 1;
        }
        1 + match value {
            Value::Array(items) => items
                .iter()
                .map(|item| below(item, left - 1))
                .max()
                .unwrap_or(0),
            Value::Object(map) => map
                .values()
                .map(|item| below(item, left - 1))
                .max()
                .unwrap_or(0),
            _ => 0,
        }
    }
    below(value, MAX_DEPTH)
}
