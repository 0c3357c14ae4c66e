//! What a caller asks the writer to do, and what it is told.

use std::sync::Arc;

use super::disk::StorageError;
use super::draft::Draft;
use super::key::Key;
use super::object::Object;

/// Most operations in one mutation.
pub const MAX_OPERATIONS: usize = 256;

/// What must hold of the stored object. Empty: only that it exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Precondition {
    /// The object is still at this revision.
    pub revision: Option<u64>,
    /// The object is still this one, not a later one of the same name.
    pub uid: Option<Box<str>>,
}

impl Precondition {
    /// The object exists.
    pub fn exists() -> Self {
        Self::default()
    }

    /// The object is the version that the caller has seen.
    pub fn revision(revision: u64) -> Self {
        Self {
            revision: Some(revision),
            uid: None,
        }
    }

    pub(super) fn holds_for(&self, object: &Object) -> bool {
        self.revision
            .is_none_or(|revision| revision == object.revision())
            && self
                .uid
                .as_deref()
                .is_none_or(|uid| uid == object.metadata().uid())
    }
}

/// One change of one key, or a condition on it.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Stores a new object; the key must be free.
    Create {
        /// Where.
        key: Key,
        /// What.
        draft: Draft,
    },
    /// Replaces an object: compare and swap.
    Replace {
        /// Where.
        key: Key,
        /// What.
        draft: Draft,
        /// What must hold of the object that is there.
        precondition: Precondition,
    },
    /// Removes an object.
    Delete {
        /// Where.
        key: Key,
        /// What must hold of the object that is there.
        precondition: Precondition,
    },
    /// Changes nothing, takes no revision, but the mutation is refused if the condition does not hold.
    Require {
        /// Where.
        key: Key,
        /// What must hold of the object that is there.
        precondition: Precondition,
    },
}

impl Operation {
    /// The key that the operation is about.
    pub fn key(&self) -> &Key {
        match self {
            Self::Create { key, .. }
            | Self::Replace { key, .. }
            | Self::Delete { key, .. }
            | Self::Require { key, .. } => key,
        }
    }
}

/// Operations that happen together or not at all. Each that changes something gets a revision of its own, so that
/// a watch can resume between any two events.
#[derive(Debug, Clone)]
pub struct Mutation {
    operations: Vec<Operation>,
}

impl Mutation {
    /// Several operations in order; later ones see what earlier ones did.
    pub fn new(operations: Vec<Operation>) -> Self {
        Self { operations }
    }

    /// Stores a new object.
    pub fn create(key: Key, draft: Draft) -> Self {
        Operation::Create { key, draft }.into()
    }

    /// Replaces an object.
    pub fn replace(key: Key, draft: Draft, precondition: Precondition) -> Self {
        Operation::Replace {
            key,
            draft,
            precondition,
        }
        .into()
    }

    /// Removes an object.
    pub fn delete(key: Key, precondition: Precondition) -> Self {
        Operation::Delete { key, precondition }.into()
    }

    /// What is to be done, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub(super) fn check_size(&self) -> Result<(), WriteError> {
        let count = self.operations.len();
        if count > MAX_OPERATIONS {
            return Err(WriteError::TooManyOperations { count });
        }
        Ok(())
    }
}

impl From<Operation> for Mutation {
    fn from(operation: Operation) -> Self {
        Self {
            operations: vec![operation],
        }
    }
}

/// A mutation that is on the disk and visible.
#[derive(Debug, Clone)]
pub struct Written {
    /// One for each operation, in order.
    pub results: Vec<Arc<Object>>,
}

impl Written {
    /// The result of the first operation, if there was one. A deletion gives the last state with the revision of
    /// the deletion; a requirement gives the object that fulfilled it.
    pub fn first(&self) -> Option<&Arc<Object>> {
        self.results.first()
    }
}

/// Why nothing was written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// A create found an object.
    #[error("{key} already exists")]
    AlreadyExists {
        /// The key of the operation.
        key: Key,
        /// What is there.
        existing: Arc<Object>,
    },
    /// There is no object.
    #[error("{key} does not exist")]
    NotFound {
        /// The key of the operation.
        key: Key,
    },
    /// The object is not what the precondition says.
    #[error("{key} is at revision {} and does not fulfil the precondition", current.revision())]
    Conflict {
        /// The key of the operation.
        key: Key,
        /// What is there.
        current: Arc<Object>,
    },
    /// More than [`MAX_OPERATIONS`].
    #[error("{count} operations in one mutation are more than {MAX_OPERATIONS}")]
    TooManyOperations {
        /// How many.
        count: usize,
    },
    /// The disk failed. The mutation is not visible, and the store goes on. Only if the process ends before a
    /// later write succeeds may the mutation show up after the next start.
    #[error("failed to store the mutation")]
    Storage(#[source] Arc<StorageError>),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}
