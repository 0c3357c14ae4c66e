//! The release record of one revision, as Helm 3 and Helm 4 store it.
//!
//! The pending record is written before the first object, so it also serves as the inventory of an interrupted run.

pub(crate) mod chart;
pub(crate) mod hook;
pub(crate) mod payload;
pub(crate) mod secret;
#[cfg(test)]
pub(crate) mod tests;
mod truncate;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use outrigger_chart::Profile;
use outrigger_chart::manifest::split;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::ReleaseId;

pub use chart::{ChartSummary, StoredChart};
pub use hook::{Hook, HookExecution};
pub use payload::DecodeError;

/// The apply method of server-side apply.
pub(crate) const SERVER_SIDE: &str = "ssa";

/// The status of a revision, by Helm's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", from = "String")]
pub enum Status {
    #[default]
    Unknown,
    Deployed,
    Uninstalled,
    Superseded,
    Failed,
    Uninstalling,
    PendingInstall,
    PendingUpgrade,
    PendingRollback,
}

impl Status {
    /// Whether an operation is in progress, or was interrupted.
    pub fn is_pending(self) -> bool {
        matches!(
            self,
            Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback
        )
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Deployed => "deployed",
            Self::Uninstalled => "uninstalled",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalling => "uninstalling",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
        }
    }

    const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Deployed,
        Self::Uninstalled,
        Self::Superseded,
        Self::Failed,
        Self::Uninstalling,
        Self::PendingInstall,
        Self::PendingUpgrade,
        Self::PendingRollback,
    ];

    pub(crate) fn parse(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|status| status.name() == name);
        known.unwrap_or_default()
    }
}

impl From<String> for Status {
    fn from(name: String) -> Self {
        Self::parse(&name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    #[serde(default, with = "hook::time", skip_serializing_if = "Option::is_none")]
    pub first_deployed: Option<Timestamp>,
    #[serde(default, with = "hook::time", skip_serializing_if = "Option::is_none")]
    pub last_deployed: Option<Timestamp>,
    #[serde(default, with = "hook::time", skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

#[derive(Clone)]
pub struct Record {
    pub id: ReleaseId,
    pub revision: u32,
    pub info: Info,
    pub chart: StoredChart,
    /// The user-supplied values. May contain secrets.
    pub config: Map<String, Value>,
    /// All objects except hooks, as YAML documents.
    pub manifest: String,
    pub hooks: Vec<Hook>,
    /// `ssa` or `csa`; empty means `csa`.
    pub apply_method: String,
    /// User-defined labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Whether the manifest contains only the names of some objects: the record was too large for one Secret, and its
    /// parts are missing.
    pub is_truncated: bool,
    /// Whether another tool, such as Helm, wrote the record last.
    pub is_foreign: bool,
    /// The resource version of the Secret that the record was read from.
    pub resource_version: Option<String>,
}

/// Omits values and objects, which may contain secrets.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("id", &self.id)
            .field("revision", &self.revision)
            .field("info.status", &self.info.status)
            .field("chart", self.chart.summary())
            .finish_non_exhaustive()
    }
}

impl Record {
    /// The documents of the manifest, each with the path of its template.
    pub(crate) fn documents(&self) -> Vec<(&str, &str)> {
        let documents = split::documents(&self.manifest, Profile::Helm4);
        documents.into_iter().map(source_and_content).collect()
    }

    /// Whether both have the same manifest, values, chart version and hooks.
    pub(crate) fn has_same_contents(&self, other: &Self) -> bool {
        let hook = |hook: &Hook| (hook.manifest.clone(), hook.events.clone(), hook.weight);
        !self.is_truncated
            && self.manifest == other.manifest
            && self.config == other.config
            && self.chart.summary() == other.chart.summary()
            && self.hooks.iter().map(hook).eq(other.hooks.iter().map(hook))
    }
}

/// Splits the `# Source:` line off a document.
fn source_and_content(document: &str) -> (&str, &str) {
    let Some(rest) = document.strip_prefix("# Source: ") else {
        return ("", document);
    };
    let (source, content) = rest.split_once('\n').unwrap_or((rest, ""));
    // `push_document` adds a newline.
    (source, content.strip_suffix('\n').unwrap_or(content))
}

/// Appends a document to a manifest, as Helm prints and stores it.
pub(crate) fn push_document(manifest: &mut String, source: &str, content: &str) {
    manifest.push_str("---\n# Source: ");
    manifest.push_str(source);
    manifest.push('\n');
    manifest.push_str(content);
    manifest.push('\n');
}
