//! What plugins and checks report.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that is wrong, or will be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    pub severity: Severity,
    /// The plugin that reported it, or that it is about.
    #[serde(default)]
    pub plugin: String,
    pub message: String,
}

/// Whether the pipeline continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The pipeline stops after the stage.
    Fatal,
    /// The pipeline continues.
    Warning,
}

impl Finding {
    pub fn fatal(plugin: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Fatal,
            plugin: plugin.into(),
            message: message.into(),
        }
    }

    pub fn warning(plugin: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            plugin: plugin.into(),
            message: message.into(),
        }
    }

    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Fatal
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Fatal => "fatal",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}", self.plugin, self.message)
    }
}
