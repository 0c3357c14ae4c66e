//! Errors, with the messages of go-yaml and encoding/json.
//!
//! [`Error::full_text`] adds the prefix of sigs.k8s.io/yaml, as Helm prints it.

/// The maximum number of nodes of a document, after aliases are expanded. A node takes up to 200 bytes, and two bytes of
/// text are enough for one.
pub(crate) const MAX_NODES: usize = 4_000_000;

/// Why a document cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A syntax error. go-yaml does not report the first line.
    #[error("yaml: {}{problem}", LinePrefix(*line))]
    Syntax {
        line: Option<usize>,
        problem: &'static str,
    },
    /// A byte that is not allowed in YAML.
    #[error("yaml: {0}")]
    Encoding(&'static str),
    #[error("yaml: unknown anchor '{name}' referenced")]
    UnknownAnchor { name: String },
    #[error("yaml: anchor '{name}' value contains itself")]
    SelfReference { name: String },
    #[error("yaml: document contains excessive aliasing")]
    ExcessiveAliasing,
    #[error("yaml: map merge requires map or sequence of maps as the value")]
    MergeValue,
    /// The text does not have the type of its explicit tag.
    #[error("yaml: cannot decode {found} `{text}` as a {expected}")]
    Tag {
        found: &'static str,
        text: String,
        expected: &'static str,
    },
    #[error("yaml: !!binary value contains invalid base64 data")]
    Base64,
    /// A map or a list as a key; `key` is in Go syntax.
    #[error("yaml: invalid map key: {key}")]
    CollectionKey { key: String },
    /// Duplicate keys with their lines, which only strict decoding reports.
    #[error("yaml: unmarshal errors:\n  {}", .0.join("\n  "))]
    RepeatedKeys(Vec<String>),
    /// A key that cannot be converted to JSON; `key` and `value` are in Go syntax.
    #[error("unsupported map key of type: {ty}, key: {key}, value: {value}")]
    KeyType {
        ty: &'static str,
        key: String,
        value: String,
    },
    /// `.inf` or `.nan`, which JSON does not have.
    #[error("json: unsupported value: {0}")]
    UnsupportedNumber(&'static str),
    /// A value does not have the type of its target.
    #[error("json: cannot unmarshal {found} into Go {target}")]
    Mismatch { found: &'static str, target: Target },
    /// go-yaml has no limit on the number of nodes.
    #[error("yaml: document has more than {MAX_NODES} nodes")]
    TooManyNodes,
    /// The nesting limit of encoding/json.
    #[error("exceeded max depth")]
    Depth,
    /// The nesting limit of the caller.
    #[error("yaml: exceeded max depth of {0}")]
    MaxDepth(usize),
}

/// The Go target of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Target {
    /// The whole document.
    #[error("value of type {0}")]
    Document(&'static str),
    #[error("struct field {field} of type {ty}")]
    Field {
        field: &'static str,
        ty: &'static str,
    },
}

/// The step of decoding that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// From YAML to JSON.
    Convert,
    /// From JSON to the target type.
    Decode,
}

impl Error {
    /// The document is a `found` ("array", "string", "number", "bool", "object") and not a `go_type`.
    pub fn not_a(found: &'static str, go_type: &'static str) -> Self {
        Self::Mismatch {
            found,
            target: Target::Document(go_type),
        }
    }

    pub fn step(&self) -> Step {
        match self {
            Self::Mismatch { .. } | Self::Depth => Step::Decode,
            _ => Step::Convert,
        }
    }

    /// The message with the prefix of the failed step, as Helm prints it.
    pub fn full_text(&self) -> String {
        match self.step() {
            Step::Convert => format!("error converting YAML to JSON: {self}"),
            Step::Decode => format!("error unmarshaling JSON: while decoding JSON: {self}"),
        }
    }
}

struct LinePrefix(Option<usize>);

impl std::fmt::Display for LinePrefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, "line {line}: "),
            None => Ok(()),
        }
    }
}
