//! Server-side apply: merges what managers apply and keeps track of who owns which field.
//!
//! [`FieldManager::apply`] merges a configuration into a live object; [`FieldManager::update`] records who changed
//! what in any other write. Both put `metadata.managedFields` in place. Objects are plain JSON; the
//! [`Schema`] says which lists and maps are merged.
//!
//! The order of a write is: decode, default, `update` (or: decode, `apply`, default), then what the server itself
//! changes, then [`keep_times`] right before the object is stored.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::go_types::{self, StructId, zero_value};
use crate::schema::{self, Schema, SchemaRef};

mod check;
mod combine;
mod compare;
mod conflict;
mod field_set;
mod form;
mod last_applied;
mod managed;
mod path;
mod reconcile;
mod remove;
pub mod reset_fields;
mod scale;
mod set;
mod set_json;
mod times;
mod updater;

use check::{Duplicates, check};
pub use conflict::{Conflict, Conflicts};
use managed::{Entry, Managed, Operation};
pub use path::{Path, PathElement};
pub use scale::{ScalePaths, scale_from_parent, scale_to_parent};
pub use set::Set;
pub use set_json::DecodeError;
pub use times::keep_times;
use updater::{Failure, Updater};

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields that the configuration changes: 409.
    #[error("{0}")]
    Conflict(Conflicts),
    /// 400.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not fit the schema: 500, as a real server has it.
    #[error("{0}")]
    Internal(String),
}

/// A kind at one version, with the schemas of all its versions.
#[derive(Debug, Clone)]
pub struct Kind {
    pub api_version: String,
    /// The name, such as `Deployment`.
    pub name: String,
    /// By `apiVersion`.
    pub schemas: BTreeMap<String, Schema>,
}

/// Who writes, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub manager: &'a str,
    /// The time that a changed entry gets, like `2024-05-01T12:00:00Z`.
    pub now: &'a str,
}

/// Tracks ownership at one endpoint of one kind.
#[derive(Debug, Clone)]
pub struct FieldManager {
    kind: Arc<Kind>,
    subresource: String,
    /// Fields that this endpoint never changes, by `apiVersion`.
    reset: BTreeMap<String, Set>,
}

impl FieldManager {
    /// The manager of an endpoint: the main one (`""`) or a subresource such as `status`. Which fields it leaves
    /// alone is in [`reset_fields`].
    pub fn new(kind: Arc<Kind>, subresource: &str, reset: reset_fields::Fields) -> Self {
        let fields: Set = reset
            .iter()
            .map(|path| Path::of_fields(path.iter().copied()))
            .collect();
        let versions = kind.schemas.keys().filter(|_| !fields.is_empty());
        Self {
            reset: versions
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
            reset: &self.reset,
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

    /// The object that a create starts from.
    fn empty(&self) -> Value {
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

    /// Records the changes of a write that is not an apply. Returns the new object with its entries.
    ///
    /// The new object must be decoded and defaulted; a live object of nothing means that the object is created.
    pub fn update(&self, live: Option<&Value>, mut new: Value, writer: Writer<'_>) -> Value {
        let managed = self.managed_for_update(live, &new);
        managed::strip(&mut new);
        let is_tracked = !managed.is_empty() || live.is_none_or(|live| !has_uid(live));
        if is_tracked {
            let empty = live.is_none().then(|| self.empty());
            let old = live.or(empty.as_ref()).unwrap_or(&Value::Null);
            match self.try_update(old, &new, managed, writer) {
                Ok(mut managed) => {
                    managed::cap_updaters(&mut managed);
                    managed::write(&mut new, &managed);
                }
                Err(_problem) => {}
            }
        }
        new
    }

    /// The entries to start from. Requests may write them, but not through subresources; who sends none keeps
    /// those there are, and who sends an empty list drops them.
    fn managed_for_update(&self, live: Option<&Value>, new: &Value) -> Managed {
        let of_live = || managed::read(live).unwrap_or_default();
        if !self.subresource.is_empty() {
            return of_live();
        }
        match managed::entries_of(new).map(Vec::as_slice) {
            Some([]) => Managed::new(),
            Some([only]) if only.as_object().is_some_and(Map::is_empty) => Managed::new(),
            _ => match managed::read(Some(new)) {
                Ok(managed) if !managed.is_empty() => managed,
                _ => of_live(),
            },
        }
    }

    fn try_update(
        &self,
        old: &Value,
        new: &Value,
        managed: Managed,
        writer: Writer<'_>,
    ) -> Result<Managed, String> {
        let schema = self.schema().ok_or("no schema")?;
        check(schema.root(), new, Duplicates::Allowed)?;
        check(schema.root(), old, Duplicates::Allowed)?;
        let result = self.updater().update(old, new, managed);
        let (mut managed, changed) = result.map_err(|failure| match failure {
            Failure::Conflict(conflicts) => conflicts.to_string(),
            Failure::Version(problem) => problem,
        })?;
        let mut entry = self.entry(writer, Operation::Update);
        entry.fields = changed.difference(&NEVER_OWNED);
        if !entry.fields.is_empty() {
            let id = entry.identity();
            if let Some(previous) = managed.get(&id) {
                entry.fields = entry.fields.union(&previous.fields);
            }
            entry.time = Some(writer.now.to_owned());
            managed.insert(id, entry);
        }
        Ok(managed)
    }

    /// Applies a configuration. Returns the object with its entries.
    ///
    /// Custom resources come back defaulted, built-in objects in the form that a real server gives
    /// them but without defaults.
    pub fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        writer: Writer<'_>,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let managed = managed::read(live).map_err(|problem| {
            ApplyError::Internal(format!("failed to decode managed fields: {problem}"))
        })?;
        self.check_version(applied)?;
        let empty = live.is_none().then(|| self.empty());
        let live = live.or(empty.as_ref()).unwrap_or(&Value::Null);
        let (mut object, managed) = self.apply_as_kubectl(live, applied, managed, writer, force)?;
        if writer.manager == "kubectl" {
            last_applied::refresh(&mut object, applied);
        }
        managed::write(&mut object, &managed);
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
            let kind = type_name(applied);
            return Err(ApplyError::BadRequest(format!(
                "invalid object type: {kind}"
            )));
        }
        if managed::entries_of(applied).is_some() {
            return Err(ApplyError::BadRequest(
                "metadata.managedFields must be nil".to_owned(),
            ));
        }
        Ok(())
    }

    /// kubectl may take over without force what it once applied from the client.
    fn apply_as_kubectl(
        &self,
        live: &Value,
        applied: &Value,
        managed: Managed,
        writer: Writer<'_>,
        force: bool,
    ) -> Result<(Value, Managed), ApplyError> {
        let result = self.apply_tracked(live, applied, managed.clone(), writer, force);
        let Err(ApplyError::Conflict(conflicts)) = result else {
            return result;
        };
        let schema = self.schema().filter(|_| writer.manager == "kubectl");
        let version = &self.kind.api_version;
        let allowed =
            schema.and_then(|schema| last_applied::unchanged_fields(live, schema, version));
        let Some(allowed) = allowed else {
            return Err(ApplyError::Conflict(conflicts));
        };
        if conflicts.fields().difference(&allowed).is_empty() {
            return self.apply_tracked(live, applied, managed, writer, true);
        }
        let refused = conflicts
            .0
            .into_iter()
            .filter(|conflict| !allowed.contains(&conflict.field));
        Err(ApplyError::Conflict(Conflicts(refused.collect())))
    }

    /// Objects that nobody tracked so far get an entry for all that they have.
    fn apply_tracked(
        &self,
        live: &Value,
        applied: &Value,
        mut managed: Managed,
        writer: Writer<'_>,
        force: bool,
    ) -> Result<(Value, Managed), ApplyError> {
        if managed.is_empty() {
            let before = Writer {
                manager: "before-first-apply",
                now: writer.now,
            };
            let result = self.try_update(&self.empty(), live, managed, before);
            managed = result.map_err(|problem| {
                ApplyError::Internal(format!(
                    "failed to create manager for existing fields: {problem}"
                ))
            })?;
        }
        self.merge(live, applied, managed, writer, force)
    }

    fn merge(
        &self,
        live: &Value,
        applied: &Value,
        managed: Managed,
        writer: Writer<'_>,
        force: bool,
    ) -> Result<(Value, Managed), ApplyError> {
        let schema = self
            .schema()
            .ok_or_else(|| ApplyError::Internal("no schema".to_owned()))?;
        let named = |object: &Value| {
            let text = |name: &str| object.get("metadata")?.get(name)?.as_str();
            let (namespace, name) = (
                text("namespace").unwrap_or_default(),
                text("name").unwrap_or_default(),
            );
            format!("{namespace}/{name}; {}", type_name(object))
        };
        check(schema.root(), applied, Duplicates::Refused).map_err(|problem| {
            ApplyError::Internal(format!(
                "failed to create typed patch object ({}): {problem}",
                named(applied)
            ))
        })?;
        check(schema.root(), live, Duplicates::Allowed).map_err(|problem| {
            ApplyError::Internal(format!(
                "failed to create typed live object ({}): {problem}",
                named(live)
            ))
        })?;
        let entry = self.entry(writer, Operation::Apply);
        let id = entry.identity();
        let result = self.updater().apply(live, applied, managed, entry, force);
        let (new, mut managed) = result.map_err(|failure| match failure {
            Failure::Conflict(conflicts) => ApplyError::Conflict(conflicts),
            Failure::Version(problem) => ApplyError::Internal(problem),
        })?;
        if let Some(entry) = managed.get_mut(&id) {
            entry.fields = entry.fields.difference(&NEVER_OWNED);
            if new.is_some() {
                entry.time = Some(writer.now.to_owned());
            }
        }
        managed.retain(|_, entry| !entry.fields.is_empty());
        let object = if let Some(mut new) = new {
            settle_form(&mut new, schema);
            new
        } else {
            let mut live = live.clone();
            managed::strip(&mut live);
            live
        };
        Ok((object, managed))
    }
}

/// The form in which a merged object goes on: as decoding it would give it.
fn settle_form(object: &mut Value, schema: &Schema) {
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

/// Fields that belong to nobody.
static NEVER_OWNED: LazyLock<Set> = LazyLock::new(|| {
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

/// `apps/v1, Kind=Deployment`.
fn type_name(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion")
        .split_once('/')
        .unwrap_or_else(|| ("", text("apiVersion")));
    format!("{group}/{version}, Kind={}", text("kind"))
}
