//! A batch of transactions for one commit: checks preconditions, assigns revisions and builds the new versions.
//!
//! Pure: the writer commits the batch and publishes its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::key::Key;
use super::object::Object;
use super::snapshot::State;
use super::transaction::{Committed, Operation, Precondition, Transaction, WriteError};
use crate::watch::Event;

/// The new version of each written key; none if it is deleted.
pub(super) type Writes = BTreeMap<Key, Option<Arc<Object>>>;

/// Transactions that are committed together.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    state: &'a State,
    /// The last assigned revision.
    revision: u64,
    pub(super) writes: Writes,
    /// The writes of the transaction that is being added, until all its operations succeed.
    staged: Writes,
    /// In order of revision.
    pub(super) events: Vec<Arc<Event>>,
}

impl<'a> Batch<'a> {
    /// An empty batch whose revisions begin after `revision`, which may be later than that of the state.
    pub(super) fn new(state: &'a State, revision: u64) -> Self {
        Self {
            state,
            revision,
            writes: Writes::new(),
            staged: Writes::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds all operations of a transaction, or none if one fails.
    pub(super) fn add(&mut self, transaction: &Transaction) -> Result<Committed, WriteError> {
        transaction.check_size()?;
        let revision = self.revision;
        let events = self.events.len();
        let results: Result<_, _> = transaction
            .operations()
            .iter()
            .map(|operation| self.apply(operation))
            .collect();
        if results.is_ok() {
            self.writes.append(&mut self.staged);
        } else {
            self.staged.clear();
            self.events.truncate(events);
            self.revision = revision;
        }
        results.map(|results| Committed { results })
    }

    fn apply(&mut self, operation: &Operation) -> Result<Arc<Object>, WriteError> {
        match operation {
            Operation::Create { key, encoded } => {
                if let Some(existing) = self.current(key) {
                    return Err(WriteError::AlreadyExists {
                        key: key.clone(),
                        existing: Arc::clone(existing),
                    });
                }
                let revision = self.next_revision();
                let object = Arc::new(Object::create(key.clone(), encoded, revision));
                Ok(self.record(Event::Added { object }))
            }
            Operation::Replace {
                key,
                encoded,
                precondition,
            } => {
                let old = self.existing(key, precondition)?;
                let object = Arc::new(old.replace(encoded, self.next_revision()));
                Ok(self.record(Event::Modified { old, object }))
            }
            Operation::Delete { key, precondition } => {
                let old = self.existing(key, precondition)?;
                let object = Arc::new(old.at_revision(self.next_revision()));
                Ok(self.record(Event::Deleted { old, object }))
            }
            Operation::Require { key, precondition } => self.existing(key, precondition),
        }
    }

    fn record(&mut self, event: Event) -> Arc<Object> {
        let object = Arc::clone(event.object());
        let exists = !matches!(event, Event::Deleted { .. });
        self.staged
            .insert(object.key().clone(), exists.then(|| Arc::clone(&object)));
        self.events.push(Arc::new(event));
        object
    }

    fn existing(&self, key: &Key, precondition: &Precondition) -> Result<Arc<Object>, WriteError> {
        let current = self
            .current(key)
            .ok_or_else(|| WriteError::NotFound { key: key.clone() })?;
        if !precondition.holds_for(current) {
            return Err(WriteError::Conflict {
                key: key.clone(),
                current: Arc::clone(current),
            });
        }
        Ok(Arc::clone(current))
    }

    /// The version after the preceding operations of the batch.
    fn current(&self, key: &Key) -> Option<&Arc<Object>> {
        match self.staged.get(key).or_else(|| self.writes.get(key)) {
            Some(written) => written.as_ref(),
            None => self.state.get(key),
        }
    }

    fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }
}

#[cfg(test)]
mod tests;
