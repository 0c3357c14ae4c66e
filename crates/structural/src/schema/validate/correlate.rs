//! Correlates each value of an updated object with its old value, so that errors in unchanged values can be ignored.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::{ListKey, ListType, SchemaRef};

/// `CorrelatedObject`: a value and the old value that it replaces.
#[derive(Debug, Clone, Copy)]
pub(in crate::schema) struct Correlated<'v> {
    new: &'v Value,
    old: &'v Value,
    schema: SchemaRef<'v>,
}

impl<'v> Correlated<'v> {
    pub(in crate::schema) fn new(new: &'v Value, old: &'v Value, schema: SchemaRef<'v>) -> Self {
        Self { new, old, schema }
    }

    pub(in crate::schema) fn is_equal(&self) -> bool {
        self.new == self.old
    }

    pub(in crate::schema) fn field(&self, name: &str) -> Option<Self> {
        Some(Self {
            new: self.new.as_object()?.get(name)?,
            old: self.old.as_object()?.get(name)?,
            schema: self
                .schema
                .property(name)
                .or_else(|| self.schema.additional())?,
        })
    }

    /// The old items of a list, by key.
    pub(in crate::schema) fn items(&self) -> Option<OldItems<'v>> {
        OldItems::new(self.schema, self.old)
    }

    /// A new item with its old item, if there is one.
    pub(in crate::schema) fn item(&self, old: Option<&OldItems<'v>>, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        Some(Self {
            new,
            old: old?.find(new)?,
            schema: self.schema.items()?,
        })
    }
}

/// The items of a list by key. Only lists of type map can be correlated.
#[derive(Debug)]
pub(in crate::schema) struct OldItems<'v> {
    keys: &'v [ListKey],
    items: HashMap<String, &'v Value>,
}

impl<'v> OldItems<'v> {
    pub(in crate::schema) fn new(schema: SchemaRef<'v>, list: &'v Value) -> Option<Self> {
        let ListType::Map(keys) = &schema.node().list_type else {
            return None;
        };
        let mut items = HashMap::new();
        for item in list.as_array()? {
            if let Some(key) = key_of(keys, item) {
                items.entry(key).or_insert(item);
            }
        }
        Some(Self { keys, items })
    }

    pub(in crate::schema) fn find(&self, item: &Value) -> Option<&'v Value> {
        self.items.get(&key_of(self.keys, item)?).copied()
    }
}

fn key_of(keys: &[ListKey], item: &Value) -> Option<String> {
    let fields = item.as_object()?;
    let key = keys
        .iter()
        .map(|key| fields.get(&key.name).or(key.default.as_ref()));
    let key = key.map(|value| value.map_or_else(String::new, Value::to_string));
    Some(key.collect::<Vec<_>>().join(","))
}
