//! Options of actions on releases.

use std::time::Duration;

use jiff::Timestamp;

use crate::health::Rules;
use crate::id::ObjectId;

/// What to do with the CRDs in a chart's `crds` directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CrdPolicy {
    /// Create missing CRDs, leave existing ones unchanged.
    #[default]
    Create,
    /// Create missing CRDs, update existing ones.
    Replace,
    Skip,
}

/// What to do about fields that another field manager owns and has set to another value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conflicts {
    /// Fail, as Helm does.
    #[default]
    Fail,
    /// Leave these fields to the other manager, and apply the others.
    Keep,
    /// Take them over.
    Take,
}

/// Options of an action. The defaults are those of `helm install --wait`.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that Helm has too"
)]
pub struct Options {
    /// Deadline of the whole action, including hooks and waiting.
    pub timeout: Duration,
    /// Wait until all objects are ready.
    pub wait: bool,
    /// Roll a failed upgrade back, uninstall after a failed install.
    pub rollback_on_failure: bool,
    /// Maximum number of revisions kept; 0 for no limit.
    pub max_history: usize,
    pub crds: CrdPolicy,
    /// Adopt existing objects that are not part of the release.
    pub take_ownership: bool,
    pub conflicts: Conflicts,
    /// Objects whose fields are left to other managers, whatever `conflicts` says.
    pub is_shared: fn(&ObjectId) -> bool,
    /// Compare with the live values, because someone may have changed them as our field manager.
    pub compare_values: bool,
    pub run_hooks: bool,
    /// Create the namespace of the release if it does not exist.
    pub create_namespace: bool,
    /// Create the namespaces of all objects that do not exist, as KubeGems does for its templates.
    pub create_object_namespaces: bool,
    /// Health rules in addition to the built-in ones.
    pub health_rules: Rules,
    /// Replaces the default description in the release record, such as "Install complete".
    pub description: Option<String>,
    /// Keep the release records on uninstall.
    pub keep_history: bool,
    /// The clock.
    pub now: fn() -> Timestamp,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(5),
            wait: true,
            rollback_on_failure: false,
            max_history: 10,
            crds: CrdPolicy::default(),
            take_ownership: false,
            conflicts: Conflicts::default(),
            is_shared: |_| false,
            compare_values: false,
            run_hooks: true,
            create_namespace: false,
            create_object_namespaces: false,
            health_rules: Rules::default(),
            description: None,
            keep_history: false,
            now: Timestamp::now,
        }
    }
}

impl Options {
    /// What to do about fields of an object that another manager has changed.
    pub(crate) fn conflicts_of(&self, object: &ObjectId) -> Conflicts {
        if (self.is_shared)(object) {
            Conflicts::Keep
        } else {
            self.conflicts
        }
    }
}
