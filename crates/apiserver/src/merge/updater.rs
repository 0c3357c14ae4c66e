//! Computes who owns what after a write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::combine::combine;
use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::field_set::field_set;
use super::managed::{Entry, Managed};
use super::reconcile::reconcile;
use super::remove::remove;
use super::set::Set;
use crate::schema::value;
use crate::schema::{Schema, prune_unknown};

/// The versions of a kind and the fields that an endpoint never changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updater<'k> {
    pub(super) version: &'k str,
    /// By `apiVersion`.
    pub(super) schemas: &'k BTreeMap<String, Schema>,
    /// By `apiVersion`.
    pub(super) reset: &'k BTreeMap<String, Set>,
}

impl<'k> Updater<'k> {
    fn schema(&self) -> Option<&'k Schema> {
        self.schemas.get(self.version)
    }

    /// Ownership after a write that was not an apply. The fields that changed go to `writer`.
    pub(super) fn update(
        &self,
        old: &Value,
        new: &Value,
        managed: Managed,
        mut writer: Entry,
    ) -> (Managed, Entry) {
        let mut managed = self.reconcile(managed);
        let comparison = self
            .settle(old, new, &mut managed, true)
            .unwrap_or_default();
        let fields = comparison.modified.union(&comparison.added);
        writer.fields = self.without_reset(&fields);
        (managed, writer)
    }

    /// The object after an apply, or nothing if it did not change, and who owns what then.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        mut applier: Entry,
        force: bool,
    ) -> Result<(Option<Value>, Managed), Conflicts> {
        let mut managed = self.reconcile(managed);
        let Some(schema) = self.schema() else {
            return Ok((None, managed));
        };
        let merged = combine(schema.root(), live, config);
        let id = applier.identity();
        let last = managed.remove(&id);
        applier.time = last.as_ref().and_then(|last| last.time.clone());
        applier.fields = self.without_reset(&field_set(schema.root(), config));
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self.prune(&merged, &managed, &applier, last),
            _ => merged,
        };
        self.settle(live, &new, &mut managed, force)?;
        managed.insert(id, applier);
        let is_same = value::equal(live, &new);
        Ok(((!is_same).then_some(new), managed))
    }

    fn without_reset(&self, fields: &Set) -> Set {
        match self.reset.get(self.version) {
            Some(reset) => fields.recursive_difference(reset),
            None => fields.clone(),
        }
    }

    /// Takes changed and removed fields from all entries. Entries of versions that no longer exist go.
    fn settle(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut Managed,
        force: bool,
    ) -> Result<Comparison, Conflicts> {
        let mut comparisons = BTreeMap::new();
        let current = self.compare_at(self.version, old, new);
        comparisons.insert(self.version.to_owned(), current);
        let mut conflicts = Vec::new();
        for (id, entry) in managed.iter() {
            let comparison = comparisons
                .entry(entry.api_version.clone())
                .or_insert_with(|| self.compare_at(&entry.api_version, old, new));
            let Some(comparison) = comparison else {
                continue;
            };
            let conflict = entry
                .fields
                .intersection(&comparison.modified.union(&comparison.added));
            if !conflict.is_empty() {
                conflicts.push((id.clone(), conflict));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(Conflicts::new(managed, &conflicts));
        }
        for (id, conflict) in conflicts {
            if let Some(entry) = managed.get_mut(&id) {
                entry.fields = entry.fields.difference(&conflict);
            }
        }
        managed.retain(|_, entry| {
            let Some(Some(comparison)) = comparisons.get(&entry.api_version) else {
                return false;
            };
            if !comparison.removed.is_empty() {
                entry.fields = entry.fields.difference(&comparison.removed);
            }
            !entry.fields.is_empty()
        });
        Ok(comparisons
            .remove(self.version)
            .flatten()
            .unwrap_or_default())
    }

    fn compare_at(&self, version: &str, old: &Value, new: &Value) -> Option<Comparison> {
        let schema = self.schemas.get(version)?;
        let (old, new) = (self.convert(old, version)?, self.convert(new, version)?);
        let comparison = compare(schema.root(), &old, &new);
        Some(comparison.without(self.reset.get(version)))
    }

    /// The object in another version. Versions differ only in the fields they know.
    fn convert<'v>(&self, object: &'v Value, version: &str) -> Option<Cow<'v, Value>> {
        let schema = self.schemas.get(version)?;
        let current = object.get("apiVersion").and_then(Value::as_str);
        if current == Some(version) || (current.is_none() && version == self.version) {
            return Some(Cow::Borrowed(object));
        }
        let mut object = object.clone();
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion".to_owned(), version.into());
        }
        prune_unknown(&mut object, schema.root());
        Some(Cow::Owned(object))
    }

    fn reconcile(&self, mut managed: Managed) -> Managed {
        managed.retain(|_, entry| {
            let Some(schema) = self.schemas.get(&entry.api_version) else {
                return false;
            };
            if let Some(fields) = reconcile(schema.root(), &entry.fields) {
                entry.fields = fields;
            }
            true
        });
        managed
    }

    /// Removes what the applier owned before, does not apply now, and nobody else owns.
    fn prune(&self, merged: &Value, others: &Managed, applier: &Entry, last: &Entry) -> Value {
        let version = last.api_version.as_str();
        let Some(schema) = self.schemas.get(version).map(Schema::root) else {
            return merged.clone();
        };
        let Some(merged_then) = self.convert(merged, version) else {
            return merged.clone();
        };
        let last_fields = last.fields.with_named_fields(Some(schema));
        let pruned = remove(schema, &merged_then, &last_fields);
        let pruned = self.add_back_owned(&merged_then, pruned, version, others, applier);
        let pruned = self
            .convert(&pruned, version)
            .map_or(pruned.clone(), Cow::into_owned);
        // What is gone but was not the applier's comes back.
        let before = field_set(schema, &merged_then).with_named_fields(Some(schema));
        let after = field_set(schema, &pruned).with_named_fields(Some(schema));
        let gone = before.difference(&after).intersection(&last_fields);
        let pruned = remove(schema, &merged_then, &gone);
        match self.convert(&pruned, &applier.api_version) {
            Some(Cow::Owned(converted)) => converted,
            _ => pruned,
        }
    }

    /// Adds back what others own, or the applier with its new configuration, version by version.
    fn add_back_owned(
        &self,
        merged: &Value,
        pruned: Value,
        first: &str,
        others: &Managed,
        applier: &Entry,
    ) -> Value {
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in others.values().chain([applier]) {
            let fields = owned.entry(entry.api_version.as_str()).or_default();
            *fields = fields.union(&entry.fields);
        }
        let mut versions: Vec<&str> = owned.keys().copied().collect();
        versions.sort_by_key(|version| *version != first);
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for version in versions {
            let Some(schema) = self.schemas.get(version).map(Schema::root) else {
                continue;
            };
            let converted = (
                self.convert(&merged, version),
                self.convert(&pruned, version),
            );
            let (Some(merged_now), Some(pruned_now)) = converted else {
                continue;
            };
            let named = |set: &Set| set.with_named_fields(Some(schema));
            let kept = named(&field_set(schema, &pruned_now)).union(&named(&owned[version]));
            let gone = named(&field_set(schema, &merged_now)).difference(&kept);
            let next = remove(schema, &merged_now, &gone);
            merged = merged_now.into_owned();
            pruned = next;
        }
        pruned
    }
}
