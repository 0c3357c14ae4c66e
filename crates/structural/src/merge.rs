//! Server-side apply, after `managedfields` of apimachinery and structured-merge-diff.
//!
//! [`FieldManager::apply`] merges an applied configuration into the live object; [`FieldManager::update`] records the
//! fields that any other write changes. Both set `metadata.managedFields`. Objects are plain JSON; the [`Schema`] defines
//! which lists and maps are merged.
//!
//! A write decodes, defaults and calls `update` (or decodes, calls `apply` and defaults), then the server makes its own
//! changes, and calls [`ignore_managed_fields_timestamps`] right before it stores the object.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::go_types::{self, StructId, zero_value};
use crate::schema::{self, Schema, SchemaRef};

mod atom;
mod compare;
mod configuration;
mod conflict;
mod last_applied;
mod managed_fields;
mod path;
mod reconcile_schema;
mod remove;
pub mod reset_fields;
mod scale_handler;
mod set;
mod set_json;
mod timestamps;
mod to_field_set;
mod typed_merge;
mod updater;
mod validate;

pub use configuration::merge_configuration;
pub use conflict::{Conflict, Conflicts};
pub use managed_fields::DecodeError;
use managed_fields::{Entry, ManagedFields, Operation};
pub use path::{Path, PathElement};
pub use scale_handler::{ReplicasPathMappings, scale_to_parent, scale_to_subresource};
pub use set::Set;
pub use set_json::DecodeError as SetDecodeError;
pub use timestamps::ignore_managed_fields_timestamps;
use updater::{UpdateError, Updater};
use validate::{Duplicates, validate};

/// Why an apply failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields that the configuration changes: 409.
    #[error("{0}")]
    Conflict(Conflicts),
    /// 400.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not conform to the schema: 500, as in kube-apiserver.
    #[error("{0}")]
    Internal(String),
}

/// One version of a kind, with the schemas of all versions.
#[derive(Debug, Clone)]
pub struct Kind {
    pub api_version: String,
    /// The kind itself, such as `Deployment`.
    pub name: String,
    /// By `apiVersion`.
    pub schemas: BTreeMap<String, Schema>,
}

/// The manager that writes, and the time of the write.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub manager: &'a str,
    /// The `time` of changed entries, such as `2024-05-01T12:00:00Z`.
    pub now: &'a str,
}

/// An apply request.
#[derive(Clone, Copy)]
struct ApplyRequest<'a> {
    live: &'a Value,
    applied: &'a Value,
    writer: Writer<'a>,
    force: bool,
}

/// Tracks the managed fields of one kind, at the main resource or at a subresource.
#[derive(Debug, Clone)]
pub struct FieldManager {
    kind: Arc<Kind>,
    subresource: String,
    /// The fields that are reset by the strategy, by `apiVersion`.
    reset_fields: BTreeMap<String, Set>,
}

impl FieldManager {
    /// `subresource` is empty for the main resource. [`reset_fields`] has the fields that are reset.
    pub fn new(kind: Arc<Kind>, subresource: &str, reset_fields: reset_fields::Fields) -> Self {
        let fields: Set = reset_fields
            .iter()
            .map(|path| Path::of_fields(path.iter().copied()))
            .collect();
        let versions = kind.schemas.keys().filter(|_| !fields.is_empty());
        Self {
            reset_fields: versions
                .map(|version| (version.clone(), fields.clone()))
                .collect(),
            subresource: subresource.to_owned(),
            kind,
        }
    }

    fn updater(&self) -> Updater<'_> {
        Updater {
            version: &self.kind.api_version,
            schemas: &self.kind.schemas,
            reset_fields: &self.reset_fields,
        }
    }

    fn schema(&self) -> Option<&Schema> {
        self.kind.schemas.get(&self.kind.api_version)
    }

    fn entry(&self, writer: Writer<'_>, operation: Operation) -> Entry {
        let manager = if writer.manager.is_empty() {
            "unknown"
        } else {
            writer.manager
        };
        Entry {
            manager: manager.to_owned(),
            operation,
            api_version: self.kind.api_version.clone(),
            subresource: self.subresource.clone(),
            time: None,
            fields: Set::new(),
        }
    }

    /// The empty object that a create is compared with.
    fn empty_object(&self) -> Value {
        let mut object = match self.schema().map(Schema::root) {
            Some(root) => go_struct(root).map_or_else(|| Value::Object(Map::new()), zero_value),
            None => Value::Object(Map::new()),
        };
        if let Some(object) = object.as_object_mut() {
            object.insert(
                "apiVersion".to_owned(),
                self.kind.api_version.clone().into(),
            );
            object.insert("kind".to_owned(), self.kind.name.clone().into());
        }
        object
    }

    /// Records the changes of a write other than an apply. Returns the new object with its managed fields.
    ///
    /// The new object must be decoded and defaulted. Without a live object, the write is a create.
    pub fn update(&self, live: Option<&Value>, mut new: Value, writer: Writer<'_>) -> Value {
        let managed = self.managed_for_update(live, &new);
        managed_fields::remove(&mut new);
        let is_tracked = !managed.is_empty() || live.is_none_or(|live| !has_uid(live));
        if is_tracked {
            let empty = live.is_none().then(|| self.empty_object());
            let old = live.or(empty.as_ref()).unwrap_or(&Value::Null);
            if let Ok(mut managed) = self.try_update(old, &new, managed, writer) {
                managed_fields::cap_update_managers(&mut managed);
                managed_fields::encode(&mut new, &managed);
            }
        }
        new
    }

    /// The managed fields before the update. A request may replace them, except through a subresource: an empty list resets
    /// them, no list keeps those of the live object.
    fn managed_for_update(&self, live: Option<&Value>, new: &Value) -> ManagedFields {
        let of_live = || managed_fields::decode(live).unwrap_or_default();
        if !self.subresource.is_empty() {
            return of_live();
        }
        match managed_fields::raw_entries(new).map(Vec::as_slice) {
            Some([]) => ManagedFields::new(),
            Some([only]) if only.as_object().is_some_and(Map::is_empty) => ManagedFields::new(),
            _ => match managed_fields::decode(Some(new)) {
                Ok(managed) if !managed.is_empty() => managed,
                _ => of_live(),
            },
        }
    }

    fn try_update(
        &self,
        old: &Value,
        new: &Value,
        managed: ManagedFields,
        writer: Writer<'_>,
    ) -> Result<ManagedFields, UpdateError> {
        let schema = self.schema().ok_or(UpdateError::NoSchema)?;
        validate(schema.root(), new, Duplicates::Allowed)?;
        validate(schema.root(), old, Duplicates::Allowed)?;
        let (mut managed, changed) = self.updater().update(old, new, managed)?;
        let mut entry = self.entry(writer, Operation::Update);
        entry.fields = changed.difference(&STRIPPED_FIELDS);
        if !entry.fields.is_empty() {
            let id = entry.identifier();
            if let Some(previous) = managed.get(&id) {
                entry.fields = entry.fields.union(&previous.fields);
            }
            entry.time = Some(writer.now.to_owned());
            managed.insert(id, entry);
        }
        Ok(managed)
    }

    /// Applies a configuration. Returns the object with its managed fields.
    ///
    /// Custom resources are returned defaulted, built-in objects normalized but not defaulted.
    pub fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        writer: Writer<'_>,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let managed = managed_fields::decode(live).map_err(|error| {
            ApplyError::Internal(format!("failed to decode managed fields: {error}"))
        })?;
        self.check_version(applied)?;
        let empty = live.is_none().then(|| self.empty_object());
        let live = live.or(empty.as_ref()).unwrap_or(&Value::Null);
        let request = ApplyRequest {
            live,
            applied,
            writer,
            force,
        };
        let (mut object, managed) = self.apply_with_last_applied(request, managed)?;
        if writer.manager == "kubectl" {
            last_applied::update_annotation(&mut object, applied);
        }
        managed_fields::encode(&mut object, &managed);
        Ok(object)
    }

    fn check_version(&self, applied: &Value) -> Result<(), ApplyError> {
        let text = |name: &str| {
            applied
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        if text("apiVersion") != self.kind.api_version || text("kind") != self.kind.name {
            let kind = group_version_kind(applied);
            return Err(ApplyError::BadRequest(format!(
                "invalid object type: {kind}"
            )));
        }
        if managed_fields::raw_entries(applied).is_some() {
            return Err(ApplyError::BadRequest(
                "metadata.managedFields must be nil".to_owned(),
            ));
        }
        Ok(())
    }

    /// kubectl may take over fields without force if it has applied them client-side.
    fn apply_with_last_applied(
        &self,
        request: ApplyRequest<'_>,
        managed: ManagedFields,
    ) -> Result<(Value, ManagedFields), ApplyError> {
        let result = self.apply_after_first_apply(request, managed.clone());
        let Err(ApplyError::Conflict(conflicts)) = result else {
            return result;
        };
        let schema = self
            .schema()
            .filter(|_| request.writer.manager == "kubectl");
        let version = &self.kind.api_version;
        let allowed =
            schema.and_then(|schema| last_applied::unchanged_fields(request.live, schema, version));
        let Some(allowed) = allowed else {
            return Err(ApplyError::Conflict(conflicts));
        };
        if conflicts.fields().difference(&allowed).is_empty() {
            let request = ApplyRequest {
                force: true,
                ..request
            };
            return self.apply_after_first_apply(request, managed);
        }
        let remaining = conflicts
            .0
            .into_iter()
            .filter(|conflict| !allowed.contains(&conflict.field));
        Err(ApplyError::Conflict(Conflicts(remaining.collect())))
    }

    /// An object without managed fields first gets an entry `before-first-apply` for all its fields.
    fn apply_after_first_apply(
        &self,
        request: ApplyRequest<'_>,
        mut managed: ManagedFields,
    ) -> Result<(Value, ManagedFields), ApplyError> {
        if managed.is_empty() {
            let before = Writer {
                manager: "before-first-apply",
                now: request.writer.now,
            };
            let result = self.try_update(&self.empty_object(), request.live, managed, before);
            managed = result.map_err(|error| {
                ApplyError::Internal(format!(
                    "failed to create manager for existing fields: {error}"
                ))
            })?;
        }
        self.apply_typed(request, managed)
    }

    fn apply_typed(
        &self,
        request: ApplyRequest<'_>,
        managed: ManagedFields,
    ) -> Result<(Value, ManagedFields), ApplyError> {
        let ApplyRequest {
            live,
            applied,
            writer,
            force,
        } = request;
        let schema = self
            .schema()
            .ok_or_else(|| ApplyError::Internal("no schema".to_owned()))?;
        let typed = |which: &str, object: &Value, duplicates: Duplicates| {
            validate(schema.root(), object, duplicates).map_err(|errors| {
                let name = display_name(object);
                ApplyError::Internal(format!(
                    "failed to create typed {which} object ({name}): {errors}"
                ))
            })
        };
        typed("patch", applied, Duplicates::Rejected)?;
        typed("live", live, Duplicates::Allowed)?;
        let entry = self.entry(writer, Operation::Apply);
        let id = entry.identifier();
        let result = self.updater().apply(live, applied, managed, entry, force);
        let (new, mut managed) = result.map_err(|error| match error {
            UpdateError::Conflict(conflicts) => ApplyError::Conflict(conflicts),
            error => ApplyError::Internal(error.to_string()),
        })?;
        if let Some(entry) = managed.get_mut(&id) {
            entry.fields = entry.fields.difference(&STRIPPED_FIELDS);
            if new.is_some() {
                entry.time = Some(writer.now.to_owned());
            }
        }
        managed.retain(|_, entry| !entry.fields.is_empty());
        let object = if let Some(mut new) = new {
            normalize(&mut new, schema);
            new
        } else {
            let mut live = live.clone();
            managed_fields::remove(&mut live);
            live
        };
        Ok((object, managed))
    }
}

/// Normalizes a merged object as decoding it would.
fn normalize(object: &mut Value, schema: &Schema) {
    if let Some(id) = go_struct(schema.root()) {
        go_types::normalize(id, object);
    } else {
        schema::normalize(object);
        schema::apply_defaults(object, schema.root());
    }
}

/// The Go type of an object of a built-in kind.
fn go_struct(root: SchemaRef<'_>) -> Option<StructId> {
    root.name.as_deref().and_then(go_types::of_definition)
}

/// `stripFields`: fields that no manager owns.
static STRIPPED_FIELDS: LazyLock<Set> = LazyLock::new(|| {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let top = ["apiVersion", "kind", "metadata"].map(|name| Path::of_fields([name]));
    let metadata = metadata.map(|name| Path::of_fields(["metadata", name]));
    top.into_iter().chain(metadata).collect()
});

fn has_uid(object: &Value) -> bool {
    let uid = object
        .get("metadata")
        .and_then(|metadata| metadata.get("uid")?.as_str());
    uid.is_some_and(|uid| !uid.is_empty())
}

/// `default/web; apps/v1, Kind=Deployment`.
fn display_name(object: &Value) -> String {
    let text = |name: &str| object.get("metadata")?.get(name)?.as_str();
    let (namespace, name) = (
        text("namespace").unwrap_or_default(),
        text("name").unwrap_or_default(),
    );
    format!("{namespace}/{name}; {}", group_version_kind(object))
}

/// `apps/v1, Kind=Deployment`.
fn group_version_kind(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion")
        .split_once('/')
        .unwrap_or_else(|| ("", text("apiVersion")));
    format!("{group}/{version}, Kind={}", text("kind"))
}
