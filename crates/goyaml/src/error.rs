//! Why a document cannot be read, in the words that users of Helm know.
//!
//! [`Error`] displays the innermost text, as go-yaml or Go's JSON package has it. [`Error::full_text`] adds the
//! words of the step that failed, as Helm prints them.

/// A document that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text breaks a rule of YAML. `line` is what go-yaml reports: absent on the first line.
    #[error("yaml: {}{problem}", Place(*line))]
    Syntax {
        line: Option<usize>,
        problem: &'static str,
    },
    /// A byte that no YAML text may hold.
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
    /// An explicit tag asks for a type that the text does not have.
    #[error("yaml: cannot decode {found} `{text}` as a {wanted}")]
    Tag {
        found: &'static str,
        text: String,
        wanted: &'static str,
    },
    #[error("yaml: !!binary value contains invalid base64 data")]
    Base64,
    /// A map or a list as a key; `key` is in Go syntax.
    #[error("yaml: invalid map key: {key}")]
    CollectionKey { key: String },
    /// Keys that a map has more than once, each with its line. Only strict readers mind.
    #[error("yaml: unmarshal errors:\n  {}", .0.join("\n  "))]
    RepeatedKeys(Vec<String>),
    /// A key that has no JSON form; `key` and `value` are in Go syntax.
    #[error("unsupported map key of type: {ty}, key: {key}, value: {value}")]
    KeyType {
        ty: &'static str,
        key: String,
        value: String,
    },
    /// `.inf` or `.nan`, which JSON cannot hold.
    #[error("json: unsupported value: {0}")]
    UnsupportedNumber(&'static str),
    /// A value has not the type that the reader wants.
    #[error("json: cannot unmarshal {found} into Go {target}")]
    Mismatch { found: &'static str, target: Target },
    /// Deeper than Go's JSON decoder goes.
    #[error("exceeded max depth")]
    Depth,
}

/// What a value was to be decoded into.
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

/// The step of reading that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// From YAML to JSON.
    Convert,
    /// From JSON to the wanted type.
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

    /// The text with the name of the step before it, as Helm prints it.
    pub fn full_text(&self) -> String {
        match self.step() {
            Step::Convert => format!("error converting YAML to JSON: {self}"),
            Step::Decode => format!("error unmarshaling JSON: while decoding JSON: {self}"),
        }
    }
}

struct Place(Option<usize>);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, "line {line}: "),
            None => Ok(()),
        }
    }
}
