//! The tables of the document that is being decoded, and which of them may be defined again.

use std::collections::HashSet;

use super::{Edition, maybe_quoted};
use crate::value::{Element, List, Map, Str, Value};

/// Why a key cannot be defined, with the message of the library.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("Key '{0}' was already created as a hash.")]
    CreatedAsHash(String),
    #[error("Key '{0}' was already created and cannot be used as an array.")]
    NotAnArray(String),
    #[error("Key '{0}' has already been defined.")]
    AlreadyDefined(String),
    #[error("{0} is not a table")]
    NotATable(String),
    /// The library has no limit, and needs as much memory.
    #[error("keys are longer than {MAX_KEY_BYTES} bytes in total")]
    TooManyKeys,
}

/// The maximum size of the keys of all implicit tables and arrays. A key of many parts creates as many tables, each with a key.
const MAX_KEY_BYTES: usize = 32 << 20;

/// The maximum number of parts of a key.
pub(super) const MAX_KEY_PARTS: usize = 1000;

/// The tables, and the position of the decoder in them.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) root: Map,
    /// The current table.
    pub(super) context: Vec<String>,
    /// The key whose value is being decoded, or empty.
    pub(super) current_key: String,
    /// Tables that only a longer key has created so far.
    implicit: HashSet<String>,
    /// The total length of the keys of implicit tables and arrays.
    key_bytes: usize,
    arrays: HashSet<String>,
    edition: Edition,
}

/// `Key.String`: the dotted form of a key.
pub(super) fn full_key(parts: &[String]) -> String {
    let shown: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| maybe_quoted(part.as_bytes()))
        .collect();
    String::from_utf8_lossy(&shown.join(&b'.')).into_owned()
}

fn key_text(key: &str) -> Str {
    Str::from(key)
}

/// The table that a value is, or the last one of an array of tables.
fn table_in(value: &Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map.clone()),
        Value::List(list) if list.element() == Element::Map => match list.items().last() {
            Some(Value::Map(map)) => Some(map.clone()),
            _ => None,
        },
        _ => None,
    }
}

impl Tables {
    pub(super) fn new(edition: Edition) -> Self {
        Self {
            root: Map::default(),
            context: Vec::new(),
            current_key: String::new(),
            implicit: HashSet::new(),
            key_bytes: 0,
            arrays: HashSet::new(),
            edition,
        }
    }

    /// The last key, for errors.
    pub(super) fn last_key(&self) -> String {
        let context = full_key(&self.context);
        match (self.current_key.is_empty(), self.context.is_empty()) {
            (true, _) => context,
            (false, true) => self.current_key.clone(),
            (false, false) => format!("{context}.{}", self.current_key),
        }
    }

    pub(super) fn mark_implicit(&mut self, key: &[String]) -> Result<(), KeyError> {
        let key = full_key(key);
        self.count_key(&key)?;
        self.implicit.insert(key);
        Ok(())
    }

    /// Records whether the value of a key, or the current table, is an array.
    pub(super) fn set_array(&mut self, key: &str, is_array: bool) -> Result<(), KeyError> {
        let mut parts = self.context.clone();
        if !key.is_empty() {
            parts.push(key.to_owned());
        }
        let key = full_key(&parts);
        if is_array {
            self.count_key(&key)?;
            self.arrays.insert(key);
        } else {
            self.arrays.remove(&key);
        }
        Ok(())
    }

    fn count_key(&mut self, key: &str) -> Result<(), KeyError> {
        self.key_bytes += key.len();
        if self.key_bytes > MAX_KEY_BYTES {
            return Err(KeyError::TooManyKeys);
        }
        Ok(())
    }

    /// Enters a table that a dotted key creates.
    pub(super) fn enter_implicit(&mut self, part: &str) -> Result<(), KeyError> {
        let mut key = self.context.clone();
        key.push(part.to_owned());
        self.mark_implicit(&key)?;
        self.enter(&key, false)
    }

    /// Creates a table, or one more table of an array, and makes it the current one.
    pub(super) fn enter(&mut self, key: &[String], array: bool) -> Result<(), KeyError> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        let mut table = self.root.clone();
        let mut path = Vec::with_capacity(key.len());
        for part in parents {
            path.push(part.clone());
            if !table.contains_key(part.as_bytes()) {
                self.mark_implicit(&path)?;
                table.set(key_text(part), Value::map(Vec::new()));
            }
            let inner = table.get(part.as_bytes()).unwrap_or_default();
            table = table_in(&inner).ok_or_else(|| KeyError::CreatedAsHash(full_key(&path)))?;
        }
        self.context = path;
        if array {
            // Removed, so that it is not copied for each table.
            let tables = match table.remove(last.as_bytes()) {
                None => List::new(Element::Map, Vec::new()),
                Some(Value::List(list)) if list.element() == Element::Map => list,
                Some(_) => {
                    return Err(KeyError::NotAnArray(full_key(key)));
                }
            };
            let tables = tables.appended(Value::map(Vec::new()));
            table.set(key_text(last), Value::List(tables));
        } else {
            self.set(last, Value::map(Vec::new()))?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    /// Defines a key in the current table. A table that a longer key created may be defined once more.
    pub(super) fn set(&mut self, key: &str, value: Value) -> Result<(), KeyError> {
        let mut table = self.root.clone();
        let mut path = Vec::with_capacity(self.context.len() + 1);
        for part in &self.context {
            path.push(part.clone());
            let inner = table.get(part.as_bytes()).unwrap_or_default();
            table = table_in(&inner).ok_or_else(|| KeyError::AlreadyDefined(full_key(&path)))?;
        }
        path.push(key.to_owned());
        if !table.contains_key(key.as_bytes()) {
            table.set(key_text(key), value);
            return Ok(());
        }
        let full = full_key(&path);
        let was_implicit = self.implicit.remove(&full);
        let is_array = self.arrays.contains(&full);
        if is_array && (was_implicit || self.edition == Edition::V1_4) {
            table.set(key_text(key), value);
            return Ok(());
        }
        if was_implicit && !is_array {
            return Ok(());
        }
        Err(KeyError::AlreadyDefined(full))
    }
}
