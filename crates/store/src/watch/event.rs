//! What happened to one object in one revision.

use std::sync::Arc;

use crate::{Key, Object};

/// One change of one object.
#[derive(Debug, Clone)]
pub enum Event {
    /// The object was created.
    Added {
        /// What was created.
        object: Arc<Object>,
    },
    /// The object was replaced.
    Modified {
        /// The version before.
        old: Arc<Object>,
        /// The version now.
        object: Arc<Object>,
    },
    /// The object was deleted.
    Deleted {
        /// The last version as it was stored.
        old: Arc<Object>,
        /// The last version, with the revision of the deletion: what watchers are sent.
        object: Arc<Object>,
    },
}

impl Event {
    /// The object to send.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added { object }
            | Self::Modified { object, .. }
            | Self::Deleted { object, .. } => object,
        }
    }

    /// The version before, if there was one.
    pub fn old(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Added { .. } => None,
            Self::Modified { old, .. } | Self::Deleted { old, .. } => Some(old),
        }
    }

    /// The revision of the change. No two events have the same.
    pub fn revision(&self) -> u64 {
        self.object().revision()
    }

    /// The object that changed.
    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// About how many bytes only the history keeps alive: versions that are no longer, or never were, live.
    pub(super) fn weight(&self) -> usize {
        let versions = match self {
            Self::Added { .. } => 0,
            Self::Modified { old, object } => old.weight_beside(object),
            Self::Deleted { old, object } => old.weight_beside(object) + object.bytes().len(),
        };
        size_of::<Self>() + versions
    }
}
