//! Transactions: operations with preconditions, and their results.

use std::sync::Arc;

use super::backend::StorageError;
use super::encoded::EncodedObject;
use super::key::Key;
use super::object::Object;
use super::snapshot::State;

/// The maximum number of operations in one transaction. An object is written with all quotas that it is charged to.
pub const MAX_OPERATIONS: usize = 1024;

/// How many bytes an object may grow while it is being deleted and the disk is full: by the time of its deletion, by
/// conditions.
const MAX_GROWTH_OF_DELETED: usize = 4096;

/// Encoded objects have no revision.
const MAX_REVISION_DIGITS: usize = 20;

/// A condition on the stored object. If empty, the object must exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Precondition {
    /// The object has this revision.
    pub revision: Option<u64>,
    /// The object has this uid, so that it was not deleted and created again.
    pub uid: Option<Box<str>>,
}

impl Precondition {
    /// The object exists.
    pub fn exists() -> Self {
        Self::default()
    }

    /// The object is the version that the caller has read.
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

/// One change of one key, or a check of it.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Stores a new object; the key must not exist.
    Create { key: Key, encoded: EncodedObject },
    /// Replaces an object: compare and swap.
    Replace {
        key: Key,
        encoded: EncodedObject,
        precondition: Precondition,
    },
    /// Removes an object.
    Delete {
        key: Key,
        precondition: Precondition,
    },
    /// Fails the transaction if the precondition does not hold. Changes nothing and uses no revision.
    Require {
        key: Key,
        precondition: Precondition,
    },
}

impl Operation {
    pub fn key(&self) -> &Key {
        match self {
            Self::Create { key, .. }
            | Self::Replace { key, .. }
            | Self::Delete { key, .. }
            | Self::Require { key, .. } => key,
        }
    }
}

/// Operations that are applied atomically. Each change gets its own revision, so that a watch can resume between any
/// two events.
#[derive(Debug, Clone)]
pub struct Transaction {
    operations: Vec<Operation>,
}

impl Transaction {
    /// Several operations; each sees the effects of those before it.
    pub fn new(operations: Vec<Operation>) -> Self {
        Self { operations }
    }

    /// Stores a new object.
    pub fn create(key: Key, encoded: EncodedObject) -> Self {
        Operation::Create { key, encoded }.into()
    }

    /// Replaces an object.
    pub fn replace(key: Key, encoded: EncodedObject, precondition: Precondition) -> Self {
        Operation::Replace {
            key,
            encoded,
            precondition,
        }
        .into()
    }

    /// Removes an object.
    pub fn delete(key: Key, precondition: Precondition) -> Self {
        Operation::Delete { key, precondition }.into()
    }

    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Whether the transaction deletes objects, makes them smaller, or marks them as being deleted.
    pub(super) fn frees_space(&self, state: &State) -> bool {
        self.operations.iter().all(|operation| match operation {
            Operation::Create { .. } => false,
            Operation::Delete { .. } | Operation::Require { .. } => true,
            Operation::Replace { key, encoded, .. } => state.get(key).is_some_and(|old| {
                let (new, old) = (encoded.size(), old.bytes().len());
                let is_deleted = encoded.metadata().deletion_timestamp().is_some();
                new + MAX_REVISION_DIGITS < old || is_deleted && new <= old + MAX_GROWTH_OF_DELETED
            }),
        })
    }

    pub(super) fn check_size(&self) -> Result<(), WriteError> {
        let count = self.operations.len();
        if count > MAX_OPERATIONS {
            return Err(WriteError::TooManyOperations { count });
        }
        Ok(())
    }
}

impl From<Operation> for Transaction {
    fn from(operation: Operation) -> Self {
        Self {
            operations: vec![operation],
        }
    }
}

/// A transaction that is durable and visible.
#[derive(Debug, Clone)]
pub struct Committed {
    /// One for each operation, in order.
    pub results: Vec<Arc<Object>>,
}

impl Committed {
    /// The result of the first operation. A deletion returns the last version with the revision of the deletion; a
    /// check returns the object that satisfies it.
    pub fn first(&self) -> Option<&Arc<Object>> {
        self.results.first()
    }
}

/// Why a transaction was not committed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The key of a create exists.
    #[error("{key} already exists")]
    AlreadyExists { key: Key, existing: Arc<Object> },
    #[error("{key} does not exist")]
    NotFound { key: Key },
    /// A precondition does not hold.
    #[error("{key} is at revision {} and fails the precondition", current.revision())]
    Conflict { key: Key, current: Arc<Object> },
    /// More than [`MAX_OPERATIONS`].
    #[error("a transaction of {count} operations exceeds the limit of {MAX_OPERATIONS}")]
    TooManyOperations { count: usize },
    /// The disk failed. The transaction is not visible, and the store stays usable. If the process ends before a later
    /// write succeeds, the transaction may become visible at the next start.
    #[error("failed to commit the transaction")]
    Storage(#[source] Arc<StorageError>),
    #[error("the store is closed")]
    Closed,
}
