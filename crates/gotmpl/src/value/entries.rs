//! The entries of a map, sorted by key.
//!
//! They are a sorted vector, which is small and fast to read. A large map that is changed becomes a B-tree, and a vector
//! again when all entries are read.

use std::collections::BTreeMap;

use super::memory;
use super::{Str, Value};

/// From this size on, entries are not inserted into the middle of a vector.
const LARGE: usize = 512;

/// What an entry of a B-tree occupies, since nodes are partly empty.
const TREE_ENTRY: usize = 72;

pub(super) struct Entries {
    storage: Storage,
    /// The memory that is counted for them.
    counted: usize,
}

enum Storage {
    Vector(Vec<(Str, Value)>),
    Tree(BTreeMap<Str, Value>),
}

impl Entries {
    /// Takes entries that are sorted and have unique keys.
    pub(super) fn new(entries: Vec<(Str, Value)>) -> Self {
        let mut entries = Self {
            storage: Storage::Vector(entries),
            counted: 0,
        };
        entries.count();
        entries
    }

    pub(super) fn len(&self) -> usize {
        match &self.storage {
            Storage::Vector(entries) => entries.len(),
            Storage::Tree(entries) => entries.len(),
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Option<&Value> {
        match &self.storage {
            Storage::Vector(entries) => Some(&entries[position(entries, key).ok()?].1),
            Storage::Tree(entries) => entries.get(key),
        }
    }

    /// [`Self::get`] that first tries the index of an earlier lookup of this key.
    #[inline]
    pub(super) fn get_near(&self, key: &[u8], hint: &mut u32) -> Option<&Value> {
        let Storage::Vector(entries) = &self.storage else {
            return self.get(key);
        };
        if let Some((k, value)) = entries.get(*hint as usize)
            && k.as_bytes() == key
        {
            return Some(value);
        }
        let at = position(entries, key).ok()?;
        *hint = u32::try_from(at).unwrap_or_default();
        Some(&entries[at].1)
    }

    /// The old value is returned, to be dropped after the map is no longer borrowed.
    pub(super) fn set(&mut self, key: Str, value: Value) -> Option<Value> {
        let old = match &mut self.storage {
            Storage::Vector(entries) => match position(entries, key.as_bytes()) {
                Ok(at) => return Some(std::mem::replace(&mut entries[at].1, value)),
                Err(at) if at == entries.len() || entries.len() < LARGE => {
                    entries.insert(at, (key, value));
                    None
                }
                Err(_) => self.tree().insert(key, value),
            },
            Storage::Tree(entries) => entries.insert(key, value),
        };
        self.count();
        old
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<Value> {
        let removed = match &mut self.storage {
            Storage::Vector(entries) => {
                let at = position(entries, key).ok()?;
                if entries.len() < LARGE {
                    Some(entries.remove(at).1)
                } else {
                    self.tree().remove(key)
                }
            }
            Storage::Tree(entries) => entries.remove(key),
        };
        self.count();
        removed
    }

    fn tree(&mut self) -> &mut BTreeMap<Str, Value> {
        if let Storage::Vector(entries) = &mut self.storage {
            let entries = std::mem::take(entries);
            self.storage = Storage::Tree(entries.into_iter().collect());
        }
        match &mut self.storage {
            Storage::Tree(entries) => entries,
            Storage::Vector(_) => unreachable!("it was converted"),
        }
    }

    pub(super) fn is_vector(&self) -> bool {
        matches!(self.storage, Storage::Vector(_))
    }

    /// Makes the entries available to [`Self::as_slice`].
    pub(super) fn make_vector(&mut self) {
        if let Storage::Tree(entries) = &mut self.storage {
            let entries = std::mem::take(entries);
            self.storage = Storage::Vector(entries.into_iter().collect());
            self.count();
        }
    }

    /// All entries, which must be in a vector.
    pub(super) fn as_slice(&self) -> &[(Str, Value)] {
        match &self.storage {
            Storage::Vector(entries) => entries,
            Storage::Tree(_) => &[],
        }
    }

    /// Removes all values that may contain other values.
    pub(super) fn take_containers(&mut self) -> Vec<Value> {
        let values: Vec<Value> = match &mut self.storage {
            Storage::Vector(entries) => {
                if !entries.iter().any(|(_, value)| value.is_container()) {
                    return Vec::new();
                }
                let entries = std::mem::take(entries);
                entries.into_iter().map(|(_, value)| value).collect()
            }
            Storage::Tree(entries) => std::mem::take(entries).into_values().collect(),
        };
        self.count();
        values
    }

    /// Counts the memory after a change.
    #[inline]
    fn count(&mut self) {
        let bytes = memory::OVERHEAD
            + match &self.storage {
                Storage::Vector(entries) => entries.capacity() * size_of::<(Str, Value)>(),
                Storage::Tree(entries) => entries.len() * TREE_ENTRY,
            };
        if bytes != self.counted {
            memory::allocated(bytes);
            memory::freed(self.counted);
            self.counted = bytes;
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        memory::freed(self.counted);
    }
}

/// The index of `key`, or the index to insert it at.
#[inline]
fn position(entries: &[(Str, Value)], key: &[u8]) -> Result<usize, usize> {
    entries.binary_search_by(|(k, _)| k.as_bytes().cmp(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_map_that_changes_stays_sorted() {
        let mut entries = Entries::new(Vec::new());
        let count = 4 * LARGE;
        for number in 0..count {
            let key = format!("{:05}", number * 7 % count);
            assert!(entries.set(Str::from(key), Value::Nil).is_none());
        }
        assert!(!entries.is_vector());
        assert!(entries.get(b"00007").is_some() && entries.get(b"x").is_none());
        assert!(entries.remove(b"00007").is_some());
        entries.make_vector();
        assert!(entries.as_slice().is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(entries.as_slice().len(), count - 1);
        assert_eq!(entries.len(), count - 1);
    }
}
