//! The observed state of one plugin, on which decisions are based.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use outrigger_api::plugin::{Dependency, InventoryEntry, Plugin, PluginStatus};

use crate::key::Key;
use crate::lineage::Lineage;
use crate::named_cluster::Unavailable;
use crate::pods::PodReason;
use crate::redact::Redactor;

/// How long a watch may take to report an object that was applied.
pub(crate) const WATCH_LAG: Duration = Duration::from_secs(10);

/// How long after an apply a change may have the same time as the apply.
pub(crate) const SAME_SECOND: Duration = Duration::from_secs(2);

/// A snapshot of everything the index knows about one plugin.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub(crate) key: Key,
    pub(crate) plugin: Arc<Plugin>,
    /// The latest status, which may not have been written yet.
    pub(crate) status: PluginStatus,
    /// The status that the controller wrote last, if someone else changed it since.
    pub(crate) replaced: Option<PluginStatus>,
    pub(crate) dependencies: Vec<ObservedDependency>,
    /// The path from the plugin through its dependencies back to itself, if there is one.
    pub(crate) cycle: Option<Vec<Key>>,
    pub(crate) dependents: Vec<Dependent>,
    /// The plugin that owns the release that this one names.
    pub(crate) release_owner: Option<Key>,
    /// Why the cluster that it targets by name cannot be used.
    pub(crate) unavailable: Option<Unavailable>,
    /// The owner references that it is to have, if it has others.
    pub(crate) changed_owners: Option<Vec<OwnerReference>>,
    pub(crate) lineage: Lineage,
    pub(crate) objects: ObservedObjects,
    pub(crate) retry: RetryState,
    /// Whether each ConfigMap and Secret that it references is unchanged since it was read.
    pub(crate) are_references_current: bool,
    pub(crate) now: Instant,
}

/// A dependency and the plugin that it names.
#[derive(Debug, Clone)]
pub(crate) struct ObservedDependency {
    pub(crate) dependency: Dependency,
    pub(crate) key: Key,
    pub(crate) plugin: Option<Arc<Plugin>>,
}

/// A plugin that depends on this one and is installed, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependent {
    pub(crate) key: Key,
    /// Whether it is deleted or disabled.
    pub(crate) is_removing: bool,
}

/// What earlier reconciles left for the next one. Kept in memory only.
#[derive(Debug, Clone, Default)]
pub(crate) struct RetryState {
    /// The input digest of the last failed attempt.
    pub(crate) failed_inputs: Option<String>,
    /// When the failed attempt may be retried.
    pub(crate) retry_at: Option<Instant>,
    /// When the current installation, upgrade or removal started.
    pub(crate) started_at: Option<Instant>,
    /// Since when objects have not been healthy.
    pub(crate) progressing_since: Option<Instant>,
    /// Since when a status change has been deferred.
    pub(crate) deferred_since: Option<Instant>,
    /// Consecutive failures that do not count as attempts, because a server did not respond.
    pub(crate) transient_failures: u32,
    /// Consecutive corrections of drift.
    pub(crate) drift_corrections: u32,
    pub(crate) drift_corrected_at: Option<Instant>,
    pub(crate) cached_digest: Option<CachedDigest>,
    /// The value of the annotation that requested the reconcile in progress.
    pub(crate) reconcile_request: Option<String>,
    /// Applied objects that the watches may not have reported yet.
    pub(crate) applied: Option<AppliedObjects>,
    /// What is known about the pods of unhealthy workloads.
    pub(crate) pods: Option<PodInspection>,
    /// The objects of the last apply, for [`SAME_SECOND`].
    pub(crate) just_applied: Option<Arc<AppliedObjects>>,
    /// A correction of drift that did not complete.
    pub(crate) interrupted_correction: Option<InterruptedCorrection>,
    /// The failures since the plugin was last ready that events were emitted about.
    pub(crate) reported_failures: ReportedFailures,
    /// The redactor of the last inputs that were resolved, with earlier versions of the Secrets.
    pub(crate) redactor: Option<Redactor>,
}

/// A correction of drift that ended after `inputDigest` was cleared. The next attempt is an upgrade to the same inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterruptedCorrection {
    /// The digest of the inputs that are installed.
    pub(crate) digest: String,
    /// Describes what had drifted.
    pub(crate) drifted: String,
}

/// The messages of failures, as hashes: messages can be long. A failure with another message each time is reported
/// [`Self::MAX`] times only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReportedFailures(Vec<u64>);

impl ReportedFailures {
    const MAX: usize = 16;

    /// Adds a message. Returns whether it is to be reported.
    pub(crate) fn insert(&mut self, message: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        message.hash(&mut hasher);
        let hash = hasher.finish();
        let is_new = self.0.len() < Self::MAX && !self.0.contains(&hash);
        if is_new {
            self.0.push(hash);
        }
        is_new
    }
}

impl RetryState {
    /// The resource versions of the last apply, as long as another change may have the same time.
    pub(crate) fn just_applied_versions(&self, now: Instant) -> &HashMap<InventoryEntry, u64> {
        match &self.just_applied {
            Some(applied) if now < applied.at + SAME_SECOND => &applied.resource_versions,
            _ => &NO_VERSIONS,
        }
    }

    /// The resource versions that the watches have yet to report; empty once [`WATCH_LAG`] has passed.
    pub(crate) fn awaited_versions(&self, now: Instant) -> &HashMap<InventoryEntry, u64> {
        match &self.applied {
            Some(applied) if now < applied.at + WATCH_LAG => &applied.resource_versions,
            _ => &NO_VERSIONS,
        }
    }
}

/// The reasons of the pods of unhealthy workloads, and when they are read again.
#[derive(Debug, Clone)]
pub(crate) struct PodInspection {
    pub(crate) count: u32,
    pub(crate) next_at: Instant,
    /// The workload, as in [`UnhealthyObject::object`], and the reason.
    pub(crate) reasons: Vec<(String, PodReason)>,
}

static NO_VERSIONS: LazyLock<HashMap<InventoryEntry, u64>> = LazyLock::new(HashMap::new);

/// The last input digest, with what must be unchanged for it to be reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CachedDigest {
    pub(crate) generation: Option<i64>,
    pub(crate) image_registry: Option<String>,
    pub(crate) digest: String,
    pub(crate) computed_at: Instant,
}

/// The objects of the last apply.
#[derive(Debug, Clone)]
pub(crate) struct AppliedObjects {
    pub(crate) at: Instant,
    /// The resource versions after the apply. Watch events of older versions are stale.
    pub(crate) resource_versions: HashMap<InventoryEntry, u64>,
}

/// The observed state of the objects of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedObjects {
    /// Whether the watches have not reported some of the objects yet.
    pub(crate) is_incomplete: bool,
    /// Why the cluster cannot be observed, if its API server does not respond.
    pub(crate) unreachable: Option<String>,
    pub(crate) unhealthy: Vec<UnhealthyObject>,
    /// Descriptions of the objects that someone else modified or deleted.
    pub(crate) drifted: Vec<String>,
    /// Plugins of the release that someone else modified. That may be a user: `plugin disable` and `plugin set` do it.
    pub(crate) modified_children: Vec<InventoryEntry>,
    /// Whether an object changed right after it was applied. Its metadata do not tell whether it drifted: the times in
    /// managed fields are in seconds.
    pub(crate) is_suspect: bool,
    /// The status in the labels of the release record, if it is as we wrote it.
    pub(crate) record_status: Option<String>,
    pub(crate) total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnhealthyObject {
    /// `Deployment default/web`
    pub(crate) object: String,
    pub(crate) message: String,
    /// Whether it failed, as opposed to being in progress.
    pub(crate) has_failed: bool,
    /// Whether one of its pods crashes or cannot start. During an installation that may pass.
    pub(crate) is_crashing: bool,
}

/// Formats an object for messages: `Deployment default/web`.
pub(crate) fn object_text(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

/// Describes an object that someone else modified.
pub(crate) fn modified_text(entry: &InventoryEntry) -> String {
    let object = object_text(&entry.kind, entry.namespace.as_deref(), &entry.name);
    format!("{object} was modified")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_reported_once_and_not_without_end() {
        let mut reported = ReportedFailures::default();
        assert!(reported.insert("a"));
        assert!(!reported.insert("a"));
        let count = (0..1000).filter(|n| reported.insert(&n.to_string()));
        assert_eq!(count.count(), ReportedFailures::MAX - 1);
    }
}
