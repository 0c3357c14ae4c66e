//! Finds the old value of each part of a changed object, so that errors in what did not change can be passed over.

use serde_json::Value;

use crate::schema::{ListType, SchemaRef};

/// A value with the one it replaces.
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

    /// Items are found again by their keys only.
    pub(in crate::schema) fn index(&self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        Some(Self {
            new,
            old: same_item(self.schema, self.old, new)?,
            schema: self.schema.items()?,
        })
    }
}

/// The item of a list that has the same key, if the list has keys.
pub(in crate::schema) fn same_item<'v>(
    schema: SchemaRef<'_>,
    list: &'v Value,
    item: &Value,
) -> Option<&'v Value> {
    let ListType::Map(keys) = &schema.node().list_type else {
        return None;
    };
    let item = item.as_object()?;
    let is_same = |other: &&Value| {
        other.as_object().is_some_and(|other| {
            keys.iter().all(|key| {
                let of = |fields: &serde_json::Map<String, Value>| {
                    fields.get(&key.name).or(key.default.as_ref()).cloned()
                };
                of(item) == of(other)
            })
        })
    };
    list.as_array()?.iter().find(is_same)
}
