//! Go maps with string keys: shared, mutable and sorted.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::entries::Entries;
use super::{Str, Value, cycles, teardown};

/// The type of a map, which `typeOf` and parameter types distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface {}`
    Any,
    /// `map[string]string`
    Strings,
    /// A named map type over `map[string]interface {}`, such as `chartutil.Values`.
    Named(&'static str),
}

impl MapType {
    /// The type as `%T` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "map[string]interface {}",
            Self::Strings => "map[string]string",
            Self::Named(name) => name,
        }
    }
}

/// A shared, mutable map with string keys, sorted by key.
#[derive(Clone)]
pub struct Map(Rc<MapData>);

pub(super) struct MapData {
    ty: MapType,
    /// The nil map: empty, read-only, and `null` in JSON and YAML.
    nil: bool,
    storage: Storage,
}

enum Storage {
    Own(RefCell<Entries>),
    /// The entries of another map, as after a Go type conversion. That map owns its entries.
    Shared(Map),
}

impl MapData {
    /// Removes all entries, also if the map contains itself.
    pub(super) fn clear(&self) {
        if let Storage::Own(entries) = &self.storage {
            let containers = entries.borrow_mut().take_containers();
            teardown::drop_children(containers.into_iter());
        }
    }
}

impl Drop for MapData {
    fn drop(&mut self) {
        if let Storage::Own(entries) = &mut self.storage {
            let containers = entries.get_mut().take_containers();
            if !containers.is_empty() {
                teardown::drop_children(containers.into_iter());
            }
        }
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new(MapType::Any)
    }
}

impl Map {
    pub fn new(ty: MapType) -> Self {
        Self::from_entries(ty, Vec::new())
    }

    /// Entries may have any order; of entries with equal keys the last one remains.
    pub fn from_entries(ty: MapType, mut entries: Vec<(Str, Value)>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Self::owning(ty, false, entries)
    }

    /// The nil map, which `fromJson "null"` returns. Callers that write must check [`Self::is_nil`] first.
    pub fn nil(ty: MapType) -> Self {
        Self::owning(ty, true, Vec::new())
    }

    fn owning(ty: MapType, nil: bool, entries: Vec<(Str, Value)>) -> Self {
        Self(Rc::new(MapData {
            ty,
            nil,
            storage: Storage::Own(RefCell::new(Entries::new(entries))),
        }))
    }

    pub fn is_nil(&self) -> bool {
        self.0.nil
    }

    pub fn ty(&self) -> MapType {
        self.0.ty
    }

    /// The same map with another type, as after a Go type conversion: both share their entries.
    #[must_use]
    pub fn retyped(&self, ty: MapType) -> Self {
        if let Storage::Shared(base) = &self.0.storage {
            return base.retyped(ty);
        }
        if ty == self.0.ty {
            return self.clone();
        }
        Self(Rc::new(MapData {
            ty,
            nil: self.0.nil,
            storage: Storage::Shared(self.clone()),
        }))
    }

    /// The map that owns the entries, and its entries.
    #[inline]
    fn owner(&self) -> (&Rc<MapData>, &RefCell<Entries>) {
        let mut map = self;
        loop {
            match &map.0.storage {
                Storage::Own(entries) => return (&map.0, entries),
                Storage::Shared(base) => map = base,
            }
        }
    }

    #[inline]
    fn storage(&self) -> &RefCell<Entries> {
        self.owner().1
    }

    pub fn len(&self) -> usize {
        self.storage().borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.storage().borrow().get(key).cloned()
    }

    /// [`Self::get`] that first tries the index of an earlier lookup of this key.
    #[inline]
    pub(crate) fn get_near(&self, key: &[u8], hint: &mut u32) -> Option<Value> {
        self.storage().borrow().get_near(key, hint).cloned()
    }

    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.storage().borrow().get(key).is_some()
    }

    pub fn set(&self, key: Str, value: Value) {
        let (owner, entries) = self.owner();
        if value.is_container() {
            cycles::remember(owner);
        }
        let old = entries.borrow_mut().set(key, value);
        drop(old);
    }

    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        self.storage().borrow_mut().remove(key)
    }

    /// A copy of the entries, sorted by key.
    pub fn entries(&self) -> Vec<(Str, Value)> {
        self.with_entries(<[_]>::to_vec)
    }

    /// Calls `read` with the entries, without copying them. `read` must not change the map.
    pub fn with_entries<R>(&self, read: impl FnOnce(&[(Str, Value)]) -> R) -> R {
        let entries = self.storage();
        let is_vector = entries.borrow().is_vector();
        if !is_vector {
            entries.borrow_mut().make_vector();
        }
        read(entries.borrow().as_slice())
    }

    /// Whether both share their entries, whatever their types.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.storage(), other.storage())
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_entries(|entries| {
            f.debug_map()
                .entries(entries.iter().map(|(k, v)| (k, v)))
                .finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retyped_map_shares_its_entries() {
        let plain = Map::new(MapType::Any);
        let named = plain.retyped(MapType::Named("chartutil.Values"));
        named.set("a".into(), Value::Int(1));
        assert!(plain.contains_key(b"a") && plain.ptr_eq(&named));
        assert_eq!(named.retyped(MapType::Any).ty(), MapType::Any);
    }

    #[test]
    fn the_last_of_equal_keys_remains() {
        let entries = [("b", 1), ("a", 2), ("b", 3)];
        let entries = entries.map(|(k, n)| (k.into(), Value::Int(n))).to_vec();
        let map = Map::from_entries(MapType::Any, entries);
        assert_eq!(format!("{map:?}"), r#"{"a": int(2), "b": int(3)}"#);
    }

    #[test]
    fn drops_deeply_nested_values_without_stack_overflow() {
        let mut value = Value::Nil;
        for _ in 0..300_000 {
            value = Value::map(vec![("a".into(), Value::list(vec![value]))]);
        }
        drop(value);
    }
}
