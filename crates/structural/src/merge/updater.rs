//! `merge.Updater`: computes the managed fields after a write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::managed_fields::{Entry, ManagedFields};
use super::reconcile_schema::reconcile_with_schema;
use super::remove::remove;
use super::set::Set;
use super::to_field_set::to_field_set;
use super::typed_merge::merge;
use super::validate::{Duplicates, ValidationErrors, validate};
use crate::schema::{Schema, SchemaRef, value};

/// Why managed fields cannot be computed.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpdateError {
    #[error("{0}")]
    Conflict(Conflicts),
    #[error("no schema")]
    NoSchema,
    #[error(transparent)]
    Invalid(#[from] ValidationErrors),
    /// The object does not conform to the schema of another version.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
}

/// Why an object cannot be converted to another version, with the context that structured-merge-diff adds.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ConversionError(String);

impl ConversionError {
    fn context(self, context: &str) -> Self {
        Self(format!("{context}: {self}"))
    }
}

/// The schemas and reset fields of all versions of a kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updater<'k> {
    pub(super) version: &'k str,
    /// By `apiVersion`.
    pub(super) schemas: &'k BTreeMap<String, Schema>,
    /// By `apiVersion`.
    pub(super) reset_fields: &'k BTreeMap<String, Set>,
}

impl<'k> Updater<'k> {
    fn schema(&self, version: &str) -> Option<SchemaRef<'k>> {
        self.schemas.get(version).map(Schema::root)
    }

    /// Returns the managed fields after a write other than an apply, and the fields that it changed.
    pub(super) fn update(
        &self,
        old: &Value,
        new: &Value,
        managed: ManagedFields,
    ) -> Result<(ManagedFields, Set), UpdateError> {
        let mut managed = self.reconcile_with_schemas(managed);
        let comparison = self.update_managers(old, new, &mut managed, true)?;
        let changed = comparison.modified.union(&comparison.added);
        Ok((managed, self.without_reset_fields(&changed)))
    }

    /// Returns the object after an apply, or `None` if it is unchanged, and the managed fields.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: ManagedFields,
        mut applier: Entry,
        force: bool,
    ) -> Result<(Option<Value>, ManagedFields), UpdateError> {
        let mut managed = self.reconcile_with_schemas(managed);
        let Some(schema) = self.schema(self.version) else {
            return Ok((None, managed));
        };
        let merged = merge(schema, live, config);
        let id = applier.identifier();
        let last = managed.remove(&id);
        applier.time = last.as_ref().and_then(|last| last.time.clone());
        applier.fields = self.without_reset_fields(&to_field_set(schema, config));
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self
                .prune(&merged, &managed, &applier, last)
                .map_err(|error| error.context("failed to prune fields"))?,
            _ => merged,
        };
        self.update_managers(live, &new, &mut managed, force)?;
        managed.insert(id, applier);
        let is_equal = value::equal(live, &new);
        Ok(((!is_equal).then_some(new), managed))
    }

    fn without_reset_fields(&self, fields: &Set) -> Set {
        match self.reset_fields.get(self.version) {
            Some(reset_fields) => fields.recursive_difference(reset_fields),
            None => fields.clone(),
        }
    }

    /// Removes changed and removed fields from the other managers. Drops entries of versions that no longer exist.
    fn update_managers(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut ManagedFields,
        force: bool,
    ) -> Result<Comparison, UpdateError> {
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
            return Err(UpdateError::Conflict(Conflicts::new(managed, &conflicts)));
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

    /// `None` if the version no longer exists.
    fn compare_at(
        &self,
        version: &str,
        old: &Value,
        new: &Value,
    ) -> Result<Option<Comparison>, UpdateError> {
        let Some(schema) = self.schema(version) else {
            return Ok(None);
        };
        let convert = |object, which: &str| {
            let converted = self.convert(object, version, schema);
            converted.map_err(|error| error.context(&format!("failed to convert {which} object")))
        };
        let (old, new): (Cow<'_, Value>, Cow<'_, Value>) =
            (convert(old, "old")?, convert(new, "new")?);
        let comparison = compare(schema, &old, &new);
        Ok(Some(
            comparison.exclude_fields(self.reset_fields.get(version)),
        ))
    }

    /// Converts an object to another version. Versions differ only in their schemas, so it must conform to both.
    fn convert<'v>(
        &self,
        object: &'v Value,
        version: &str,
        schema: SchemaRef<'_>,
    ) -> Result<Cow<'v, Value>, ConversionError> {
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
        validate(schema, &object, Duplicates::Rejected)
            .map_err(|errors| ConversionError(errors.to_string()))?;
        Ok(Cow::Owned(object))
    }

    /// Drops entries of versions that no longer exist, and reconciles the others with their schemas.
    fn reconcile_with_schemas(&self, mut managed: ManagedFields) -> ManagedFields {
        managed.retain(|_, entry| {
            let Some(schema) = self.schema(&entry.api_version) else {
                return false;
            };
            if let Some(fields) = reconcile_with_schema(schema, &entry.fields) {
                entry.fields = fields;
            }
            true
        });
        managed
    }

    /// Removes fields that the applier owned before, no longer applies, and no other manager owns.
    fn prune(
        &self,
        merged: &Value,
        others: &ManagedFields,
        applier: &Entry,
        last: &Entry,
    ) -> Result<Value, ConversionError> {
        let version = last.api_version.as_str();
        let Some(schema) = self.schema(version) else {
            return Ok(merged.clone());
        };
        let merged_at_last = self.convert(merged, version, schema).map_err(|error| {
            error.context("failed to convert merged object to last applied version")
        })?;
        let last_fields = last.fields.ensure_named_fields_are_members(Some(schema));
        let pruned = remove(schema, &merged_at_last, &last_fields);
        let pruned = self
            .add_back_owned_items(&merged_at_last, pruned, version, others, applier)
            .map_err(|error| error.context("failed add back owned items"))?;
        let pruned = self.convert(&pruned, version, schema).map_err(|error| {
                error.context("failed add back dangling items: failed to convert pruned object to last applied version")
            })?;
        // Adds back removed items that the applier did not own.
        let before =
            to_field_set(schema, &merged_at_last).ensure_named_fields_are_members(Some(schema));
        let after = to_field_set(schema, &pruned).ensure_named_fields_are_members(Some(schema));
        let removed = before.difference(&after).intersection(&last_fields);
        let pruned = remove(schema, &merged_at_last, &removed);
        match self.schema(&applier.api_version) {
            Some(schema) => Ok(self
                .convert(&pruned, &applier.api_version, schema)?
                .into_owned()),
            None => Ok(pruned),
        }
    }

    /// Adds back the fields that other managers own, and those of the new configuration, version by version.
    fn add_back_owned_items(
        &self,
        merged: &Value,
        pruned: Value,
        first: &str,
        others: &ManagedFields,
        applier: &Entry,
    ) -> Result<Value, ConversionError> {
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
            let convert = |which: &str, object: &Value| -> Result<Value, ConversionError> {
                let converted = self.convert(object, version, schema).map_err(|error| {
                    error.context(&format!(
                        "failed to convert {which} object at version {version}"
                    ))
                })?;
                Ok(converted.into_owned())
            };
            merged = convert("merged", &merged)?;
            pruned = convert("pruned", &pruned)?;
            let named = |set: &Set| set.ensure_named_fields_are_members(Some(schema));
            let kept = named(&to_field_set(schema, &pruned)).union(&named(&owned));
            let removed = named(&to_field_set(schema, &merged)).difference(&kept);
            pruned = remove(schema, &merged, &removed);
        }
        Ok(pruned)
    }
}
