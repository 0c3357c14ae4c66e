//! Decides what a group of mutations does: checks preconditions, assigns revisions, makes the new versions.
//!
//! Pure: reads the state, changes nothing. The writer carries it out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::key::Key;
use super::mutation::{Mutation, Operation, Precondition, WriteError, Written};
use super::object::Object;
use super::snapshot::State;
use crate::watch::Event;

/// The state of keys after a group: what the disk must hold.
pub(super) type Writes = BTreeMap<Key, Option<Arc<Object>>>;

/// What a group of mutations does if the disk takes it.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    state: &'a State,
    /// The last revision that is taken.
    revision: u64,
    pub(super) writes: Writes,
    /// What the mutation that is being added writes; it counts only when all of it is accepted.
    staged: Writes,
    /// In order of revision.
    pub(super) events: Vec<Arc<Event>>,
}

impl<'a> Plan<'a> {
    /// Nothing yet. Revisions begin after `revision`, which may be later than that of the state.
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

    /// Adds a whole mutation, or nothing of it.
    pub(super) fn add(&mut self, mutation: &Mutation) -> Result<Written, WriteError> {
        mutation.check_size()?;
        let revision = self.revision;
        let events = self.events.len();
        let results: Result<_, _> = mutation
            .operations()
            .iter()
            .map(|operation| self.step(operation))
            .collect();
        if results.is_ok() {
            self.writes.append(&mut self.staged);
        } else {
            self.staged.clear();
            self.events.truncate(events);
            self.revision = revision;
        }
        results.map(|results| Written { results })
    }

    fn step(&mut self, operation: &Operation) -> Result<Arc<Object>, WriteError> {
        match operation {
            Operation::Create { key, draft } => {
                if let Some(existing) = self.current(key) {
                    return Err(WriteError::AlreadyExists {
                        key: key.clone(),
                        existing: Arc::clone(existing),
                    });
                }
                let revision = self.next_revision();
                let object = Arc::new(Object::create(key.clone(), draft, revision));
                Ok(self.record(Event::Added { object }))
            }
            Operation::Replace {
                key,
                draft,
                precondition,
            } => {
                let old = self.required(key, precondition)?;
                let object = Arc::new(old.replace(draft, self.next_revision()));
                Ok(self.record(Event::Modified { old, object }))
            }
            Operation::Delete { key, precondition } => {
                let old = self.required(key, precondition)?;
                let object = Arc::new(old.at_revision(self.next_revision()));
                Ok(self.record(Event::Deleted { old, object }))
            }
            Operation::Require { key, precondition } => self.required(key, precondition),
        }
    }

    fn record(&mut self, event: Event) -> Arc<Object> {
        let object = Arc::clone(event.object());
        let stays = !matches!(event, Event::Deleted { .. });
        self.staged
            .insert(object.key().clone(), stays.then(|| Arc::clone(&object)));
        self.events.push(Arc::new(event));
        object
    }

    fn required(&self, key: &Key, precondition: &Precondition) -> Result<Arc<Object>, WriteError> {
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

    /// What is there after the operations before.
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
