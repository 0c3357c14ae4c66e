//! The record of one revision of a release, as Helm 3 and Helm 4 write it.
//!
//! A record is an inventory too: the pending one is written before the first object is.

pub(crate) mod chart;
pub(crate) mod hook;
pub(crate) mod payload;
pub(crate) mod secret;
pub(crate) mod skeleton;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use outrigger_chart::Profile;
use outrigger_chart::manifest::split;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::ReleaseId;

pub use chart::{StoredChart, Title};
pub use hook::{Hook, LastRun};

/// Says that objects were applied by the server.
pub(crate) const SERVER_SIDE: &str = "ssa";

/// Where a revision is in its life.
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
    /// Whether somebody works on it, or was stopped while doing so.
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

/// What happened to a revision.
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

/// One revision of a release.
#[derive(Clone)]
pub struct Record {
    pub id: ReleaseId,
    pub revision: u32,
    pub info: Info,
    pub chart: StoredChart,
    /// The user's values. They may hold secrets.
    pub config: Map<String, Value>,
    /// All objects but hooks, as YAML.
    pub manifest: String,
    pub hooks: Vec<Hook>,
    /// `ssa`, `csa` or empty, which is `csa`.
    pub apply_method: String,
    /// The user's labels, which are kept on the Secret.
    pub labels: BTreeMap<String, String>,
    /// Whether objects are only named, not described: the record was too large, and its parts are gone.
    pub is_skeleton: bool,
}

/// Values and objects may be secret, so they are not shown.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("id", &self.id)
            .field("revision", &self.revision)
            .field("info.status", &self.info.status)
            .field("chart", self.chart.title())
            .finish_non_exhaustive()
    }
}

impl Record {
    /// The documents of the manifest with the templates they came from.
    pub(crate) fn documents(&self) -> Vec<(&str, &str)> {
        let documents = split::documents(&self.manifest, Profile::Helm4);
        documents.into_iter().map(source_and_content).collect()
    }

    /// Whether both say the same of the release.
    pub(crate) fn has_same_contents(&self, other: &Self) -> bool {
        let hook = |hook: &Hook| (hook.manifest.clone(), hook.events.clone(), hook.weight);
        !self.is_skeleton
            && self.manifest == other.manifest
            && self.config == other.config
            && self.chart.title() == other.chart.title()
            && self.hooks.iter().map(hook).eq(other.hooks.iter().map(hook))
    }
}

/// Takes the line that names the template off a document.
fn source_and_content(document: &str) -> (&str, &str) {
    let Some(rest) = document.strip_prefix("# Source: ") else {
        return ("", document);
    };
    let (source, content) = rest.split_once('\n').unwrap_or((rest, ""));
    // The line break that was put after the document.
    (source, content.strip_suffix('\n').unwrap_or(content))
}

/// One document of a manifest as Helm prints and stores it.
pub(crate) fn push_document(manifest: &mut String, source: &str, content: &str) {
    manifest.push_str("---\n# Source: ");
    manifest.push_str(source);
    manifest.push('\n');
    manifest.push_str(content);
    manifest.push('\n');
}
