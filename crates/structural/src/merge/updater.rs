//! Computes who owns what after a write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{Duplicates, check};
use super::combine::combine;
use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::field_set::field_set;
use super::managed::{Entry, Managed};
use super::reconcile::reconcile;
use super::remove::remove;
use super::set::Set;
use crate::schema::{Schema, SchemaRef, value};

/// Why ownership could not be computed.
#[derive(Debug)]
pub(super) enum Failure {
    Conflict(Conflicts),
    /// The object does not fit the schema of a version that somebody used.
    Version(String),
}

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
    fn schema(&self, version: &str) -> Option<SchemaRef<'k>> {
        self.schemas.get(version).map(Schema::root)
    }

    /// Ownership after a write that was not an apply, and what the write changed.
    pub(super) fn update(
        &self,
        old: &Value,
        new: &Value,
        managed: Managed,
    ) -> Result<(Managed, Set), Failure> {
        let mut managed = self.reconcile(managed);
        let comparison = self.settle(old, new, &mut managed, true)?;
        let changed = comparison.modified.union(&comparison.added);
        Ok((managed, self.without_reset(&changed)))
    }

    /// The object after an apply, or nothing if it did not change, and who owns what then.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        mut applier: Entry,
        force: bool,
    ) -> Result<(Option<Value>, Managed), Failure> {
        let mut managed = self.reconcile(managed);
        let Some(schema) = self.schema(self.version) else {
            return Ok((None, managed));
        };
        let merged = combine(schema, live, config);
        let id = applier.identity();
        let last = managed.remove(&id);
        applier.time = last.as_ref().and_then(|last| last.time.clone());
        applier.fields = self.without_reset(&field_set(schema, config));
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self
                .prune(&merged, &managed, &applier, last)
                .map_err(|problem| {
                    Failure::Version(format!("failed to prune fields: {problem}"))
                })?,
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
    ) -> Result<Comparison, Failure> {
        let mut comparisons: BTreeMap<String, Option<Comparison>> = BTreeMap::new();
        comparisons.insert(
            self.version.to_owned(),
            self.compare_at(self.version, old, new)?,
        );
        let mut conflicts = Vec::new();
        for (id, entry) in managed.iter() {
            if !comparisons.contains_key(&entry.api_version) {
                let comparison = self.compare_at(&entry.api_version, old, new)?;
                comparisons.insert(entry.api_version.clone(), comparison);
            }
            let Some(Some(comparison)) = comparisons.get(&entry.api_version) else {
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
            return Err(Failure::Conflict(Conflicts::new(managed, &conflicts)));
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

    /// Nothing if there is no such version any more.
    fn compare_at(
        &self,
        version: &str,
        old: &Value,
        new: &Value,
    ) -> Result<Option<Comparison>, Failure> {
        let Some(schema) = self.schema(version) else {
            return Ok(None);
        };
        let convert = |object, which: &str| {
            self.convert(object, version, schema).map_err(|problem| {
                Failure::Version(format!("failed to convert {which} object: {problem}"))
            })
        };
        let (old, new): (Cow<'_, Value>, Cow<'_, Value>) =
            (convert(old, "old")?, convert(new, "new")?);
        let comparison = compare(schema, &old, &new);
        Ok(Some(comparison.without(self.reset.get(version))))
    }

    /// The object in another version. Versions differ only in their schemas, so it must fit both.
    fn convert<'v>(
        &self,
        object: &'v Value,
        version: &str,
        schema: SchemaRef<'_>,
    ) -> Result<Cow<'v, Value>, String> {
        let current = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or(self.version);
        if current == version {
            return Ok(Cow::Borrowed(object));
        }
        let mut object = object.clone();
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion".to_owned(), version.into());
        }
        check(schema, &object, Duplicates::Refused)?;
        Ok(Cow::Owned(object))
    }

    fn reconcile(&self, mut managed: Managed) -> Managed {
        managed.retain(|_, entry| {
            let Some(schema) = self.schema(&entry.api_version) else {
                return false;
            };
            if let Some(fields) = reconcile(schema, &entry.fields) {
                entry.fields = fields;
            }
            true
        });
        managed
    }

    /// Removes what the applier owned before, does not apply now, and nobody else owns.
    fn prune(
        &self,
        merged: &Value,
        others: &Managed,
        applier: &Entry,
        last: &Entry,
    ) -> Result<Value, String> {
        let version = last.api_version.as_str();
        let Some(schema) = self.schema(version) else {
            return Ok(merged.clone());
        };
        let merged_then = self.convert(merged, version, schema).map_err(|problem| {
            format!("failed to convert merged object to last applied version: {problem}")
        })?;
        let last_fields = last.fields.with_named_fields(Some(schema));
        let pruned = remove(schema, &merged_then, &last_fields);
        let pruned = self
            .add_back_owned(&merged_then, pruned, version, others, applier)
            .map_err(|problem| format!("failed add back owned items: {problem}"))?;
        let pruned = self.convert(&pruned, version, schema).map_err(|problem| {
            format!("failed add back dangling items: failed to convert pruned object to last applied version: {problem}")
        })?;
        // What is gone but was not the applier's comes back.
        let before = field_set(schema, &merged_then).with_named_fields(Some(schema));
        let after = field_set(schema, &pruned).with_named_fields(Some(schema));
        let gone = before.difference(&after).intersection(&last_fields);
        let pruned = remove(schema, &merged_then, &gone);
        match self.schema(&applier.api_version) {
            Some(schema) => Ok(self
                .convert(&pruned, &applier.api_version, schema)?
                .into_owned()),
            None => Ok(pruned),
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
    ) -> Result<Value, String> {
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in others.values().chain([applier]) {
            let fields = owned.entry(entry.api_version.as_str()).or_default();
            *fields = fields.union(&entry.fields);
        }
        let mut versions: Vec<(&str, Set)> = owned.into_iter().collect();
        versions.sort_by_key(|(version, _)| *version != first);
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for (version, owned) in versions {
            let Some(schema) = self.schema(version) else {
                continue;
            };
            let at = |which: &str, problem: String| {
                format!("failed to convert {which} object at version {version}: {problem}")
            };
            merged = self
                .convert(&merged, version, schema)
                .map_err(|problem| at("merged", problem))?
                .into_owned();
            pruned = self
                .convert(&pruned, version, schema)
                .map_err(|problem| at("pruned", problem))?
                .into_owned();
            let named = |set: &Set| set.with_named_fields(Some(schema));
            let kept = named(&field_set(schema, &pruned)).union(&named(&owned));
            let gone = named(&field_set(schema, &merged)).difference(&kept);
            pruned = remove(schema, &merged, &gone);
        }
        Ok(pruned)
    }
}
