//! Watch events.

use std::sync::Arc;

use crate::{Key, Object};

/// A change of one object at one revision.
#[derive(Debug, Clone)]
pub enum Event {
    Added {
        object: Arc<Object>,
    },
    Modified {
        old: Arc<Object>,
        object: Arc<Object>,
    },
    Deleted {
        old: Arc<Object>,
        /// The last version with the revision of the deletion, for watchers.
        object: Arc<Object>,
    },
}

impl Event {
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added { object }
            | Self::Modified { object, .. }
            | Self::Deleted { object, .. } => object,
        }
    }

    pub fn old(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Added { .. } => None,
            Self::Modified { old, .. } | Self::Deleted { old, .. } => Some(old),
        }
    }

    /// The revision of the change, which is unique.
    pub fn revision(&self) -> u64 {
        self.object().revision()
    }

    pub fn key(&self) -> &Key {
        self.object().key()
    }

    /// The approximate bytes that only the history keeps in memory: versions that are not live.
    pub(super) fn weight(&self) -> usize {
        let versions = match self {
            Self::Added { .. } => 0,
            Self::Modified { old, object } => old.weight_beside(object),
            Self::Deleted { old, object } => old.weight_beside(object) + object.bytes().len(),
        };
        size_of::<Self>() + versions
    }
}
