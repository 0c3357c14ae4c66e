//! Why an object of another system cannot be made a plugin.

/// Each with the path of the field.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: unknown field")]
    Unknown {
        path: String,
        nearest: Option<&'static str>,
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
    Refused {
        path: String,
        reason: String,
        hint: Option<&'static str>,
    },
    #[error("{path}: {text:?} is no version range")]
    Range {
        path: String,
        text: String,
        reason: String,
    },
    #[error("the Plugin cannot be read: {source}")]
    Ours { source: serde_json::Error },
}

impl Error {
    pub(super) fn refused(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused {
            path: path.into(),
            reason: reason.into(),
            hint: None,
        }
    }

    /// The field that it is about, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Unknown { path, .. }
            | Self::Type { path, .. }
            | Self::Missing { path }
            | Self::Refused { path, .. }
            | Self::Range { path, .. } => Some(path),
            Self::Ours { .. } => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => nearest.map(|name| format!("did you mean {name}?")),
            Self::Type {
                expected: "text",
                found: "a number" | "true or false",
                ..
            } => Some("put it in quotes".to_owned()),
            Self::Refused { hint, .. } => hint.map(ToOwned::to_owned),
            Self::Range { reason, .. } => Some(reason.clone()),
            Self::Type { .. } | Self::Missing { .. } | Self::Ours { .. } => None,
        }
    }
}
