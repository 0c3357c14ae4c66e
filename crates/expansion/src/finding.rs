//! What is wrong with a package: where, what, and how to correct it.

use std::fmt;

use serde::Serialize;

/// Something that is wrong with a package, or may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file or folder, relative to the package.
    pub path: String,
    /// The line in the file. Lines start at one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub severity: Severity,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Whether the package can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The package is refused.
    Fatal,
    /// The package can be used.
    Warning,
}

impl Finding {
    pub(crate) fn fatal(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
            severity: Severity::Fatal,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::fatal(path, message)
        }
    }

    #[must_use]
    pub(crate) fn at(self, line: usize) -> Self {
        Self {
            line: Some(line),
            ..self
        }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Suggests the known name that is most similar, if any is.
    #[must_use]
    pub(crate) fn suggest(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(nearest) => self.hint(format!("did you mean {nearest}?")),
            None => self,
        }
    }

    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Fatal
    }

    /// `FILE:LINE`, or `FILE` without a line.
    pub fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.path),
            None => self.path.clone(),
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fatal => "fatal",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}",
            self.severity,
            self.location(),
            self.message
        )
    }
}
