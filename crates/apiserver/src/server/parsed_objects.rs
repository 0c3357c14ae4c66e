//! The objects that watches parsed last.
//!
//! All watches of a resource see the same events at about the same time. If they must parse the objects, for a field
//! selector or a table, the first one does it for all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use outrigger_store::{Key, Object};
use serde_json::Value;

/// Two for each of the last events.
const MAX_OBJECTS: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct ParsedObjects(Mutex<VecDeque<Parsed>>);

#[derive(Debug)]
struct Parsed {
    key: Key,
    revision: u64,
    value: Arc<Value>,
}

impl ParsedObjects {
    /// The value of an object, parsed if it is not among the last.
    pub(crate) fn get<E>(
        &self,
        object: &Object,
        parse: impl FnOnce(&Object) -> Result<Value, E>,
    ) -> Result<Arc<Value>, E> {
        if let Some(value) = self.find(object) {
            return Ok(value);
        }
        let value = Arc::new(parse(object)?);
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(MAX_OBJECTS.saturating_sub(1));
        last.push_front(Parsed {
            key: object.key().clone(),
            revision: object.revision(),
            value: Arc::clone(&value),
        });
        Ok(value)
    }

    fn find(&self, object: &Object) -> Option<Arc<Value>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |parsed: &&Parsed| parsed.revision == object.revision() && parsed.key == *object.key();
        let found = last.iter().find(is_same);
        found.map(|parsed| Arc::clone(&parsed.value))
    }
}
