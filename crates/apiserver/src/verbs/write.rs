//! What every write goes through once its object is merged: admission, server fields, validation, the store.

mod endpoint;
mod refusal;

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::{GroupKind, GroupResource};
use outrigger_builtin::defaults;
use outrigger_builtin::kinds::{Kind, convert};
use outrigger_builtin::prepare::service::Allocator as _;
use outrigger_builtin::prepare::{self, Creation, User, admission};
use outrigger_builtin::validation;
use outrigger_store::{
    EncodedObject, Key, Object, Operation, Precondition, Resource, Transaction, WriteError,
};
use outrigger_structural::merge::{self, ignore_managed_fields_timestamps};
use outrigger_structural::schema;
use serde_json::Value;

use super::call::Call;
use super::decode::metadata_of;
use super::{callbacks, names, present};
use crate::lifecycle;
use crate::request::{WriteOptions, manager_or_agent};
use crate::server::{Lookup, Shape, State};

pub(crate) use refusal::store_failure;
use refusal::{encode_failure, write_failure};

/// How often a free name is looked for.
const NAME_ATTEMPTS: usize = 8;

/// What a write led to.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The object as it is stored now, changed or not.
    Stored(Arc<Object>),
    /// The write removed the last finalizer of an object that is being deleted, so the object is gone. The client
    /// gets the object that it sent, in its served form.
    Deleted(Value),
    /// Nothing is stored: the object as a real write would store it, in its served form.
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
                let name = names::generate(&prefix)?;
                metadata_of(&mut object).insert("name".to_owned(), name.into());
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
        let _guard = lifecycle::lock(state, &kind).await;
        admission::admit(
            &kind,
            &mut object,
            self.call.namespace(),
            &Lookup(&state.store),
        )?;
        let who = self.call.who;
        let creation = Creation {
            now: &self.now,
            uid: &names::random_uid().map_err(Status::from)?,
            user: User {
                name: &who.name,
                uid: &who.uid,
                groups: &who.groups,
            },
        };
        kind.strategy.prepare_for_create(&mut object);
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
        self.allocate(&mut object, None)?;
        if self.options.dry_run {
            return Ok(Outcome::DryRun(object));
        }
        let encoded = self.encoded(&object)?;
        let mut operations = Vec::with_capacity(2);
        if !self.call.namespace().is_empty() {
            operations.push(Operation::Require {
                key: namespace_key(self.call.namespace())?,
                precondition: Precondition::exists(),
            });
        }
        operations.push(Operation::Create { key, encoded });
        match state.store.write(Transaction::new(operations)).await {
            Ok(written) => {
                let stored = written
                    .results
                    .last()
                    .ok_or_else(|| Status::internal("nothing was written"))?;
                lifecycle::after_write(state, &kind, stored).await;
                Ok(Outcome::Stored(Arc::clone(stored)))
            }
            Err(error) => {
                self.release(&object, None);
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
        let _guard = lifecycle::lock(state, &kind).await;
        defaults::forget_empty_lists(&kind, &mut new, old_value);
        endpoint::prepare(&kind, &self.subresource, &mut new, old_value, &self.now);
        if self.subresource.is_empty() {
            kind.strategy.prepare_for_update(&mut new);
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
        self.allocate(&mut new, Some(old_value))?;
        ignore_managed_fields_timestamps(old_value, &mut new);
        if self.options.dry_run {
            return Ok(Outcome::DryRun(new));
        }
        let encoded = self.encoded(&new)?;
        let precondition = Precondition::revision(old.revision());
        let key = old.key().clone();
        if should_delete_during_update(&kind, &new, old_value) {
            let written = state
                .store
                .write(Transaction::delete(key, precondition))
                .await;
            let written = written.map_err(|error| write_failure(self.call, error))?;
            self.release(old_value, None);
            if let Some(gone) = written.first() {
                lifecycle::after_delete(state, &kind, gone.key().name()).await;
            }
            return Ok(Outcome::Deleted(new));
        }
        if old.has_content_of(&encoded) {
            return Ok(Outcome::Stored(Arc::clone(old)));
        }
        match state
            .store
            .write(Transaction::replace(key, encoded, precondition))
            .await
        {
            Ok(written) => {
                self.release(old_value, Some(&new));
                let stored = written
                    .first()
                    .ok_or_else(|| Status::internal("nothing was written"))?;
                lifecycle::after_write(state, &kind, stored).await;
                Ok(Outcome::Stored(Arc::clone(stored)))
            }
            Err(error) => {
                self.release(&new, Some(old_value));
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
        } else if self.subresource.is_empty() {
            errors.extend(kind.strategy.validate_schemas(new));
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

    /// Whether the write concerns the addresses and ports of the object.
    fn allocates(&self) -> bool {
        self.call.kind.strategy.allocates() && self.subresource.is_empty()
    }

    fn allocate(&self, object: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        if !self.allocates() {
            return Ok(());
        }
        let strategy = self.call.kind.strategy;
        let mut pool = self.call.state.services();
        if self.options.dry_run {
            return strategy.allocate(object, old, &mut pool.dry_run());
        }
        strategy.allocate(object, old, &mut *pool)
    }

    /// Releases the addresses and ports that an object has and `successor` does not.
    fn release(&self, object: &Value, successor: Option<&Value>) {
        if self.allocates() {
            self.call.state.services().release(object, successor);
        }
    }

    /// The stored form of an object.
    fn encoded(&self, object: &Value) -> Result<EncodedObject, Status> {
        let kind = &self.call.kind;
        if !convert::needed(kind) {
            return EncodedObject::new(object).map_err(encode_failure);
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
        EncodedObject::new(&stored).map_err(encode_failure)
    }
}

/// Writes a value of a built-in kind without going through a request: what the server itself has to say.
pub(crate) async fn write_value(
    state: &State,
    key: Key,
    value: &Value,
    old: Option<&Object>,
) -> Result<Arc<Object>, WriteError> {
    let Ok(encoded) = EncodedObject::new(value) else {
        return Err(WriteError::NotFound { key });
    };
    let transaction = match old {
        None => Transaction::create(key.clone(), encoded),
        Some(old) => {
            Transaction::replace(key.clone(), encoded, Precondition::revision(old.revision()))
        }
    };
    let written = state.store.write(transaction).await?;
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

/// Whether an update removes the last finalizer of an object that is being deleted.
fn should_delete_during_update(kind: &Kind, new: &Value, old: &Value) -> bool {
    let metadata = &old["metadata"];
    metadata["deletionTimestamp"].is_string()
        && metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && kind.strategy.is_finalized(new)
}

/// The answer to a write.
pub(super) fn answer(
    call: &Call<'_>,
    code: http::StatusCode,
    outcome: Outcome,
) -> Result<crate::negotiate::Answer, Status> {
    match outcome {
        Outcome::Stored(object) => present::object(call, code, &object),
        Outcome::Deleted(value) | Outcome::DryRun(value) => present::value(call, code, value),
    }
}
