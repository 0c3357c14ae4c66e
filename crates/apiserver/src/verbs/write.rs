//! What every write goes through once its object is merged: admission, server fields, validation, the store.

mod endpoint;
mod refusal;

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::{GroupKind, GroupResource};
use outrigger_builtin::defaults;
use outrigger_builtin::kinds::{Kind, convert};
use outrigger_builtin::prepare::service::Allocator as _;
use outrigger_builtin::prepare::{self, Creation, User, admission, service};
use outrigger_builtin::validation;
use outrigger_store::{
    Draft, Key, Mutation, Object, Operation, Precondition, Resource, WriteError,
};
use outrigger_structural::merge::{self, ignore_managed_fields_timestamps};
use outrigger_structural::schema;
use serde_json::Value;

use super::call::Call;
use super::decode::metadata_of;
use super::{callbacks, names, present};
use crate::lifecycle::definitions;
use crate::request::{WriteOptions, manager_or_agent};
use crate::server::{Lookup, Shape, State};

pub(crate) use refusal::store_failure;
use refusal::{draft_failure, write_failure};

/// How often a free name is looked for.
const NAME_ATTEMPTS: usize = 8;

/// What a write led to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The object as it is stored now, changed or not.
    Stored(Arc<Object>),
    /// What would be stored, in its served form.
    DryRun(Value),
}

/// Why a write failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Somebody else was faster; a client that did not name a version need not know.
    Raced,
    Refused(Status),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

/// A write on its way.
#[derive(Debug)]
pub(super) struct Writing<'c, 'r> {
    pub(super) call: &'c mut Call<'r>,
    pub(super) options: WriteOptions,
    pub(super) shape: Arc<Shape>,
    pub(super) manager: String,
    pub(super) now: String,
    pub(super) subresource: String,
    /// The client named a version where there can be none.
    has_version: bool,
}

impl<'c, 'r> Writing<'c, 'r> {
    pub(super) fn new(call: &'c mut Call<'r>, options: WriteOptions) -> Self {
        let subresource = call.place.subresource.to_string();
        let shape = call.state.shapes.get(&call.kinds, &call.kind, &subresource);
        Self {
            manager: manager_or_agent(&options.field_manager, call.user_agent()),
            now: call.state.now_text(),
            shape,
            subresource,
            options,
            has_version: false,
            call,
        }
    }

    pub(super) fn writer(&self) -> merge::Writer<'_> {
        merge::Writer {
            manager: &self.manager,
            now: &self.now,
        }
    }

    /// The namespace of an object is that of the request.
    pub(super) fn settle_namespace(&self, object: &mut Value) -> Result<(), Status> {
        let expected = self.call.namespace();
        let metadata = metadata_of(object);
        let found = metadata
            .get("namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if expected.is_empty() {
            metadata.remove("namespace");
        } else if found.is_empty() {
            metadata.insert("namespace".to_owned(), expected.into());
        } else if found != expected {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }

    /// The name of an object is that of the path.
    pub(super) fn check_name(&self, object: &Value) -> Result<(), Status> {
        let (found, expected) = (name_of(object), self.call.name());
        if found.is_empty() {
            return Err(Status::bad_request(format!(
                "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
            )));
        }
        if found != expected {
            return Err(Status::bad_request(format!(
                "the name of the object ({found}) does not match the name on the URL ({expected})"
            )));
        }
        Ok(())
    }

    /// Stores a new object, whose owners of fields are recorded already.
    pub(super) async fn create(&mut self, mut object: Value) -> Result<Outcome, Status> {
        let version = metadata_of(&mut object).remove("resourceVersion");
        self.has_version = version.is_some_and(|version| version != "" && version != "0");
        callbacks::check(self.call, &object)?;
        let prefix = self.name_prefix(&object);
        let is_generated = name_of(&object).is_empty() && !prefix.is_empty();
        self.check_namespace(name_of(&object))?;
        for _ in 0..NAME_ATTEMPTS {
            if is_generated {
                metadata_of(&mut object).insert("name".to_owned(), names::generate(&prefix).into());
            }
            let attempt = if is_generated {
                object.clone()
            } else {
                std::mem::take(&mut object)
            };
            let name = name_of(&attempt).to_owned();
            match self.try_create(attempt).await {
                Err(Failure::Refused(status)) => return Err(status),
                Ok(outcome) => return Ok(outcome),
                Err(Failure::Raced) if is_generated => {}
                Err(Failure::Raced) => {
                    return Err(Status::already_exists(self.call.group_resource(), &name));
                }
            }
        }
        Err(Status::generate_name_conflict(
            self.call.group_resource(),
            name_of(&object),
        ))
    }

    /// What a generated name begins with: the object says it, or its kind for those that say nothing.
    fn name_prefix(&self, object: &Value) -> String {
        let asked = object["metadata"]["generateName"].as_str();
        let custom = self.call.kind.custom.as_ref();
        let usual = custom.and_then(|custom| custom.name_prefix.as_deref());
        let asked = asked.filter(|prefix| !prefix.is_empty());
        asked.or(usual).unwrap_or_default().to_owned()
    }

    /// A namespace must be there, and stay.
    fn check_namespace(&self, name: &str) -> Result<(), Status> {
        let namespace = self.call.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let key = namespace_key(namespace)?;
        let Some(object) = self.call.state.store.get(&key) else {
            return Err(Status::not_found(
                GroupResource::new("", "namespaces"),
                namespace,
            ));
        };
        if object.metadata().deletion_timestamp().is_some() {
            let resource = self.call.group_resource();
            return Err(Status::namespace_terminating(resource, name, namespace));
        }
        Ok(())
    }

    async fn try_create(&self, mut object: Value) -> Result<Outcome, Failure> {
        let state = self.call.state;
        let kind = Arc::clone(&self.call.kind);
        let _guard = definitions::lock(state, &kind).await;
        admission::admit(
            &kind,
            &mut object,
            self.call.namespace(),
            &Lookup(&state.store),
        )?;
        let who = self.call.who;
        let creation = Creation {
            now: &self.now,
            uid: &names::random_uid(),
            user: User {
                name: &who.name,
                uid: &who.uid,
                groups: &who.groups,
            },
        };
        definitions::prepare(&kind, &mut object, true);
        prepare::create(&kind, &mut object, &creation);
        self.validate(&object, None)?;
        defaults::forget_empty_lists(&kind, &mut object, &Value::Null);
        state.auth.check_escalation(who, &kind, &object, None)?;
        if self.has_version {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::unknown(why).into());
        }
        let key = self.call.key_of(name_of(&object))?;
        if state.store.get(&key).is_some() {
            return Err(Failure::Raced);
        }
        let is_service = is_service(&kind);
        if is_service {
            allocate(state, &mut object, None, self.options.dry_run)?;
        }
        if self.options.dry_run {
            return Ok(Outcome::DryRun(object));
        }
        let draft = self.draft(&object)?;
        let mut operations = Vec::with_capacity(2);
        if !self.call.namespace().is_empty() {
            operations.push(Operation::Require {
                key: namespace_key(self.call.namespace())?,
                precondition: Precondition::exists(),
            });
        }
        operations.push(Operation::Create { key, draft });
        match state.store.write(Mutation::new(operations)).await {
            Ok(written) => {
                let stored = written
                    .results
                    .last()
                    .ok_or_else(|| Status::internal("nothing was written"))?;
                definitions::written(state, &kind, stored).await;
                Ok(Outcome::Stored(Arc::clone(stored)))
            }
            Err(error) => {
                release(state, is_service, &object, None);
                Err(write_failure(self.call, error))
            }
        }
    }

    /// Stores an object in the place of another, whose owners of fields are recorded already.
    pub(super) async fn replace(
        &mut self,
        mut new: Value,
        old: &Arc<Object>,
        old_value: &Value,
    ) -> Result<Outcome, Failure> {
        let state = self.call.state;
        let kind = Arc::clone(&self.call.kind);
        let _guard = definitions::lock(state, &kind).await;
        defaults::forget_empty_lists(&kind, &mut new, old_value);
        endpoint::prepare(&kind, &self.subresource, &mut new, old_value, &self.now);
        if self.subresource.is_empty() {
            definitions::prepare(&kind, &mut new, false);
        }
        self.validate(&new, Some(old_value))?;
        defaults::forget_empty_lists(&kind, &mut new, &Value::Null);
        if self.subresource.is_empty() {
            callbacks::check(self.call, &new)?;
            let who = self.call.who;
            state
                .auth
                .check_escalation(who, &kind, &new, Some(old_value))?;
        }
        let is_service = is_service(&kind) && self.subresource.is_empty();
        if is_service {
            allocate(state, &mut new, Some(old_value), self.options.dry_run)?;
        }
        ignore_managed_fields_timestamps(old_value, &mut new);
        if self.options.dry_run {
            return Ok(Outcome::DryRun(new));
        }
        let draft = self.draft(&new)?;
        let precondition = Precondition::revision(old.revision());
        let key = old.key().clone();
        if is_deleted_by(&kind, &new, old_value) {
            let written = state.store.write(Mutation::delete(key, precondition)).await;
            let written = written.map_err(|error| write_failure(self.call, error))?;
            release(state, is_service, old_value, None);
            if let Some(gone) = written.first() {
                definitions::removed(state, &kind, gone.key().name()).await;
            }
            // The client sees the object that it wrote, not the one that is gone.
            return Ok(Outcome::DryRun(new));
        }
        if old.has_content_of(&draft) {
            return Ok(Outcome::Stored(Arc::clone(old)));
        }
        match state
            .store
            .write(Mutation::replace(key, draft, precondition))
            .await
        {
            Ok(written) => {
                release(state, is_service, old_value, Some(&new));
                let stored = written
                    .first()
                    .ok_or_else(|| Status::internal("nothing was written"))?;
                definitions::written(state, &kind, stored).await;
                Ok(Outcome::Stored(Arc::clone(stored)))
            }
            Err(error) => {
                release(state, is_service, &new, Some(old_value));
                Err(write_failure(self.call, error))
            }
        }
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Result<(), Status> {
        let kind = &self.call.kind;
        let is_status = self.subresource == "status";
        let mut errors = match old {
            None => validation::create(kind, new),
            Some(old) if self.subresource.is_empty() => validation::update(kind, new, old),
            Some(old) => validation::update_status(kind, new, old),
        };
        if kind.custom.is_some() {
            let root = self.shape.schema.root();
            errors.extend(if is_status {
                schema::validate_custom_resource_status(new, old, root)
            } else {
                schema::validate_custom_resource(new, old, root)
            });
        } else if definitions::is_definition(kind) && self.subresource.is_empty() {
            errors.extend(definitions::check_schemas(new));
        }
        if errors.is_empty() {
            return Ok(());
        }
        // Kinds that share their objects are known by the group of the stored one.
        let group = if convert::needed(kind) {
            &kind.storage.group
        } else {
            &kind.group
        };
        let named = GroupKind::new(group, &kind.kind);
        Err(Status::invalid(named, name_of(new), &errors))
    }

    /// The stored form of an object.
    fn draft(&self, object: &Value) -> Result<Draft, Status> {
        let kind = &self.call.kind;
        if !convert::needed(kind) {
            return Draft::new(object).map_err(draft_failure);
        }
        let mut stored = object.clone();
        convert::to_storage(kind, &mut stored);
        if kind.custom.is_some()
            && let Some(sibling) =
                self.call
                    .kinds
                    .resource(&kind.group, &kind.storage.version, &kind.plural)
        {
            let shape = self.call.state.shapes.get(&self.call.kinds, sibling, "");
            schema::prune_unknown(&mut stored, shape.schema.root());
            schema::apply_defaults(&mut stored, shape.schema.root());
        }
        Draft::new(&stored).map_err(draft_failure)
    }
}

/// Writes a value of a built-in kind without going through a request: what the server itself has to say.
pub(crate) async fn write_value(
    state: &State,
    key: Key,
    value: &Value,
    old: Option<&Object>,
) -> Result<Arc<Object>, WriteError> {
    let Ok(draft) = Draft::new(value) else {
        return Err(WriteError::NotFound { key });
    };
    let mutation = match old {
        None => Mutation::create(key.clone(), draft),
        Some(old) => Mutation::replace(key.clone(), draft, Precondition::revision(old.revision())),
    };
    let written = state.store.write(mutation).await?;
    written.first().cloned().ok_or(WriteError::NotFound { key })
}

pub(super) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn namespace_key(namespace: &str) -> Result<Key, Status> {
    let resource = Resource::new("", "namespaces").map_err(Status::internal)?;
    let missing = |_| Status::not_found(GroupResource::new("", "namespaces"), namespace);
    resource.key("", namespace).map_err(missing)
}

fn is_service(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.kind == "Service"
}

fn allocate(
    state: &State,
    service: &mut Value,
    old: Option<&Value>,
    is_dry_run: bool,
) -> Result<(), Status> {
    let mut pool = state.services();
    if is_dry_run {
        return service::allocate(service, old, &mut pool.dry_run());
    }
    let result = service::allocate(service, old, &mut *pool);
    if result.is_err() && old.is_none() {
        // What it asked for may be somebody else's: only what is free of doubt is given back.
        return result;
    }
    result
}

/// Gives back what a Service has and its successor has not.
fn release(state: &State, is_service: bool, service: &Value, successor: Option<&Value>) {
    if is_service {
        state.services().release(service, successor);
    }
}

/// Whether the write takes away the last thing that kept the object.
fn is_deleted_by(kind: &Kind, new: &Value, old: &Value) -> bool {
    let is_empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    let metadata = &old["metadata"];
    let is_namespace = kind.group.is_empty() && kind.kind == "Namespace";
    metadata["deletionTimestamp"].is_string()
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && is_empty(&new["metadata"]["finalizers"])
        && (!is_namespace || is_empty(&new["spec"]["finalizers"]))
}

/// The answer to a write.
pub(super) fn answer(
    call: &Call<'_>,
    code: http::StatusCode,
    outcome: Outcome,
) -> Result<crate::negotiate::Answer, Status> {
    match outcome {
        Outcome::Stored(object) => present::object(call, code, &object),
        Outcome::DryRun(value) => present::value(call, code, value),
    }
}
