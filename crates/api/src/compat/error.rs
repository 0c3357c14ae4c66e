//! Why an object of a foreign kind cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: unknown field")]
    UnknownField {
        path: String,
        nearest: Option<String>,
    },
    #[error("{path}: must be {expected}, not {found}")]
    Type {
        path: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("{path}: is missing")]
    Missing { path: String },
    #[error("{path}: {reason}")]
    Invalid {
        path: String,
        reason: String,
        hint: Option<&'static str>,
    },
    #[error("{path}: {text:?} is not a version range")]
    Range {
        path: String,
        text: String,
        reason: String,
    },
    #[error("failed to deserialize the object")]
    Deserialize { source: serde_json::Error },
}

impl Error {
    pub(super) fn invalid(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.into(),
            reason: reason.into(),
            hint: None,
        }
    }

    /// The path of the invalid field.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::UnknownField { path, .. }
            | Self::Type { path, .. }
            | Self::Missing { path }
            | Self::Invalid { path, .. }
            | Self::Range { path, .. } => Some(path),
            Self::Deserialize { .. } => None,
        }
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownField { nearest, .. } => {
                let nearest = nearest.as_ref();
                nearest.map(|name| format!("did you mean {name}?"))
            }
            Self::Type {
                expected: "a string",
                found: "a number" | "a boolean",
                ..
            } => Some("put it in quotes".to_owned()),
            Self::Invalid { hint, .. } => hint.map(ToOwned::to_owned),
            Self::Range { reason, .. } => Some(reason.clone()),
            Self::Type { .. } | Self::Missing { .. } | Self::Deserialize { .. } => None,
        }
    }
}
