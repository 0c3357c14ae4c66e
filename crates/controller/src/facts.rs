//! What is known about one plugin when its next step is decided.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use outrigger_api::plugin::{Dependency, InventoryEntry, Plugin, PluginStatus};

use crate::key::Key;

/// Everything that a decision rests on. Gathered in one moment, from memory.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) key: Key,
    pub(crate) plugin: Arc<Plugin>,
    /// What the controller knows of it: saved, or newer and not saved yet.
    pub(crate) status: PluginStatus,
    pub(crate) dependencies: Vec<DependencyFact>,
    /// The way through its dependencies back to itself.
    pub(crate) cycle: Option<Vec<Key>>,
    pub(crate) dependants: Vec<Dependant>,
    pub(crate) objects: ObjectFacts,
    pub(crate) tries: Tries,
    /// Whether what it takes values from is as it was when it was read.
    pub(crate) is_read_current: bool,
    pub(crate) now: Instant,
}

/// A dependency and the plugin that it names.
#[derive(Debug, Clone)]
pub(crate) struct DependencyFact {
    pub(crate) dependency: Dependency,
    pub(crate) key: Key,
    pub(crate) plugin: Option<Arc<Plugin>>,
}

/// A plugin that depends on this one and is installed or is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependant {
    pub(crate) key: Key,
    /// Whether it is being removed or switched off.
    pub(crate) is_going: bool,
}

/// What was tried since the last success. Kept in memory only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tries {
    /// The inputs that failed last.
    pub(crate) failed_inputs: Option<String>,
    /// Not before this time again.
    pub(crate) next: Option<Instant>,
    /// When the present installation or change began.
    pub(crate) began: Option<Instant>,
    /// Since when there is something that was not worth a write yet.
    pub(crate) unsaved_since: Option<Instant>,
    /// Failures in a row that do not count as attempts: the cluster did not answer.
    pub(crate) unanswered: u32,
    /// Corrections of drift in a row.
    pub(crate) corrections: u32,
    /// When drift was corrected last.
    pub(crate) corrected: Option<Instant>,
    /// What the last look found.
    pub(crate) memo: Option<Memo>,
    /// What was applied and may not be seen yet.
    pub(crate) applied: Option<Applied>,
}

impl Tries {
    /// The objects that were applied and that the watches are to tell of, as long as that can be expected.
    pub(crate) fn awaited(&self, now: Instant) -> &HashMap<InventoryEntry, u64> {
        static NONE: LazyLock<HashMap<InventoryEntry, u64>> = LazyLock::new(HashMap::new);
        match &self.applied {
            Some(applied) if now < applied.at + SEEN_WITHIN => &applied.versions,
            _ => &NONE,
        }
    }
}

/// How long a watch may take to tell of what was applied.
pub(crate) const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// What the last look at chart and values found, so that the next can do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memo {
    pub(crate) generation: Option<i64>,
    pub(crate) image_registry: Option<String>,
    pub(crate) inputs: String,
    pub(crate) since: Instant,
}

/// Objects that were applied, until the watches tell of them.
#[derive(Debug, Clone)]
pub(crate) struct Applied {
    pub(crate) at: Instant,
    /// The versions that they had then. What a watch tells of older ones is past.
    pub(crate) versions: HashMap<InventoryEntry, u64>,
}

/// What is known of the objects that a plugin added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObjectFacts {
    /// Some have not been seen since the controller began to look.
    pub(crate) are_unknown: bool,
    /// Those that are not as they should be.
    pub(crate) unhealthy: Vec<Unhealthy>,
    /// Those that somebody else changed or removed, in words.
    pub(crate) drifted: Vec<String>,
    pub(crate) total: usize,
}

/// An object that is not healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unhealthy {
    /// `Deployment default/web`
    pub(crate) object: String,
    pub(crate) why: String,
    /// Whether waiting will not help.
    pub(crate) has_failed: bool,
}

/// An object for people, such as `Deployment default/web`.
pub(crate) fn object_text(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
