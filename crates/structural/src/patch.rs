//! Patches: JSON patch, JSON merge patch and strategic merge patch.
//!
//! Each function applies the body of a request to an object, and returns the patched object with the strict decoding
//! errors of the patch itself. The caller decodes, prunes and validates the result.

use serde_json::{Map, Value};

use crate::schema::{DecodeError, SchemaRef, strict};

mod json;
mod merge;
mod strategic;

/// Why a patch failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch cannot be decoded: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The patch has too many operations: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch cannot be applied to the object: 422. kube-apiserver does not return the reason, which is for logs.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable(String),
    /// Any other failure: 500, as in kube-apiserver.
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

/// How a patch is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// Reports unknown and duplicate fields (`fieldValidation` `Strict` and `Warn`).
    Strict,
    Lenient,
}

/// A patched object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    pub object: Value,
    /// Duplicate and unknown fields of the patch.
    pub strict_errors: Vec<String>,
}

/// RFC 6902, as lenient as the library of kube-apiserver.
pub fn json_patch(object: Value, patch: &[u8], decoding: Decoding) -> Result<Patched, Error> {
    let (operations, strict_errors) = match decoding {
        Decoding::Strict => {
            let prefix = "error decoding patch: ";
            let (value, mut strict_errors) =
                strict::parse(patch).map_err(|error| bad_request(prefix, &error))?;
            let operations = list(value, "[]handlers.jsonPatchOp")
                .map_err(|error| bad_request(prefix, &error))?;
            strict_errors.extend(json::unknown_fields(&operations));
            let strict_errors = strict_errors
                .into_iter()
                .map(|text| format!("json patch {text}"));
            (operations, strict_errors.collect())
        }
        Decoding::Lenient => {
            let (value, _) = strict::parse(patch).map_err(|error| bad_request("", &error))?;
            (
                list(value, "jsonpatch.Patch").map_err(|error| bad_request("", &error))?,
                Vec::new(),
            )
        }
    };
    let object = json::apply(object, &operations)?;
    Ok(Patched {
        object,
        strict_errors,
    })
}

/// Applies the operations of a JSON patch that was not sent by a client. Returns `None` if a `test` fails.
pub fn apply_operations(object: Value, operations: &[Value]) -> Result<Option<Value>, Error> {
    match json::apply(object, operations) {
        Err(Error::Unprocessable(why)) if why.ends_with(json::TEST_FAILED) => Ok(None),
        result => result.map(Some),
    }
}

/// RFC 7386.
pub fn merge_patch(object: Value, patch: &[u8], decoding: Decoding) -> Result<Patched, Error> {
    let (patch, strict_errors) = match decoding {
        Decoding::Strict => {
            let prefix = "error decoding patch: ";
            let (value, strict_errors) =
                strict::parse(patch).map_err(|error| bad_request(prefix, &error))?;
            if value.is_null() {
                return Err(invalid_json_patch());
            }
            (
                map(value).map_err(|error| bad_request(prefix, &error))?,
                strict_errors,
            )
        }
        Decoding::Lenient => {
            let value = strict::parse(patch).map(|(value, _)| value);
            let patch = value.and_then(map).map_err(|_| invalid_json_patch())?;
            (patch, Vec::new())
        }
    };
    let mut object = object;
    merge::apply(&mut object, patch);
    Ok(Patched {
        object,
        strict_errors,
    })
}

/// A strategic merge patch for a built-in kind.
pub fn strategic_merge_patch(
    object: Value,
    patch: &[u8],
    schema: SchemaRef<'_>,
    decoding: Decoding,
) -> Result<Patched, Error> {
    let (value, strict_errors) = strict::parse(patch).map_err(|error| bad_request("", &error))?;
    let patch = map(value).map_err(|error| bad_request("", &error))?;
    let original = match object {
        Value::Object(original) => original,
        _ => Map::new(),
    };
    let object = strategic::apply(original, patch, schema)?;
    Ok(Patched {
        object: Value::Object(object),
        strict_errors: match decoding {
            Decoding::Strict => strict_errors,
            Decoding::Lenient => Vec::new(),
        },
    })
}

fn bad_request(prefix: &str, error: &DecodeError) -> Error {
    Error::BadRequest(format!("{prefix}{error}"))
}

fn invalid_json_patch() -> Error {
    Error::BadRequest("Invalid JSON Patch".to_owned())
}

fn map(value: Value) -> Result<Map<String, Value>, DecodeError> {
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "map[string]interface {}")),
    }
}

fn list(value: Value, go_type: &str) -> Result<Vec<Value>, DecodeError> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        other => Err(mismatch(&other, go_type)),
    }
}

fn mismatch(value: &Value, go_type: &str) -> DecodeError {
    let found = strict::json_type(value);
    DecodeError::new(format!(
        "json: cannot unmarshal {found} into Go value of type {go_type}"
    ))
}
