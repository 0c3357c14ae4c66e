//! Errors of decoding a protobuf body.

use std::fmt;

/// Why a body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The magic bytes or the message are missing.
    #[error("the body does not begin with the prefix of Kubernetes protobuf and a message")]
    NoMessage,
    /// The object has a content encoding, such as compression.
    #[error("the protobuf body has the content encoding {encoding:?}, which is not supported")]
    Encoded { encoding: String },
    /// Neither the envelope nor the caller has a kind.
    #[error("the protobuf body has no kind")]
    NoKind,
    /// Neither the envelope nor the caller has a version.
    #[error("the protobuf body has no apiVersion")]
    NoApiVersion,
    /// The table has no message for the kind.
    #[error("no kind {kind:?} is known in version {api_version:?}, so its protobuf cannot be read")]
    UnknownKind { api_version: String, kind: String },
    /// The message is malformed.
    #[error("the protobuf body is malformed{path}: {fault}")]
    Malformed { path: Path, fault: Fault },
}

/// What is malformed at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("it ends too early")]
    Truncated,
    #[error("a number has more than 64 bits")]
    LongVarint,
    #[error("{0} is not a field number")]
    FieldNumber(i32),
    #[error("{0} is not a wire type")]
    WireType(u8),
    #[error("a group ends that was not started")]
    GroupEnd,
    #[error("it has wire type {found}, not {expected}")]
    WrongWireType { found: u8, expected: u8 },
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("it has too many values")]
    TooLarge,
    #[error("it is neither a number nor a string")]
    IntOrString,
    #[error("it is not a quantity")]
    Quantity,
    #[error("it is outside the years 0 to 9999")]
    Time,
    #[error("JSON cannot represent the number")]
    Float,
    #[error("it is not valid JSON")]
    Json,
}

/// The path of a malformed field: `spec.containers[2].ports`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(String);

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(formatter, " at {}", self.0.trim_start_matches('.'))
    }
}

/// A fault with the path from where it was found.
#[derive(Debug)]
pub(crate) struct Located {
    fault: Fault,
    /// Innermost first.
    segments: Vec<String>,
}

impl Located {
    pub(crate) fn within(mut self, field: &str) -> Self {
        self.segments.push(format!(".{field}"));
        self
    }

    pub(crate) fn at(mut self, index: usize) -> Self {
        self.segments.push(format!("[{index}]"));
        self
    }

    /// Truncates long keys.
    pub(crate) fn under(mut self, key: &[u8]) -> Self {
        let key = String::from_utf8_lossy(key.get(..63).unwrap_or(key));
        self.segments.push(format!("[{key:?}]"));
        self
    }
}

impl From<Fault> for Located {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            segments: Vec::new(),
        }
    }
}

impl From<Located> for Error {
    fn from(located: Located) -> Self {
        let path = Path(located.segments.into_iter().rev().collect());
        Self::Malformed {
            path,
            fault: located.fault,
        }
    }
}
