//! The common part of all writes: admission, strategy, validation, allocation, then the store.

mod admitted;
mod allocation;
mod charge;
mod errors;
mod param_access;
mod subresource;

use std::sync::Arc;

use outrigger_admission::{self as admission, Attributes};
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::{GroupKind, GroupResource};
use outrigger_builtin::defaults;
use outrigger_builtin::kinds::{Kind, convert};
use outrigger_builtin::prepare::service::Allocator as _;
use outrigger_builtin::prepare::{self, Creation};
use outrigger_builtin::{validation, warnings};
use outrigger_store::{
    EncodedObject, Key, Object, Operation, Precondition, Resource, Transaction, WriteError,
};
use outrigger_structural::depth;
use outrigger_structural::merge::{self, ignore_managed_fields_timestamps};
use outrigger_structural::schema;
use serde_json::Value;

use super::decode::metadata_of;
use super::request_context::RequestContext;
use super::{extensions, names, response};
use crate::controllers;
use crate::request::{WriteOptions, manager_or_agent};
use crate::server::{Lookup, ResourceSchema, State};

pub(super) use admitted::wipe_system_fields;
use allocation::Allocation;
pub(crate) use errors::store_failure;
use errors::{encode_failure, write_failure};

/// How often `generateName` tries another name.
const NAME_ATTEMPTS: usize = 8;

#[derive(Debug)]
pub(super) enum Outcome {
    /// The stored object, changed or not.
    Stored(Arc<Object>),
    /// The write removed the last finalizer of an object that is being deleted, so the object is gone. The client
    /// gets the object that it sent, in its served form.
    Deleted(Value),
    /// Nothing is stored: the object as a real write would store it, in its served form.
    DryRun(Value),
}

#[derive(Debug)]
pub(super) enum WriteFailure {
    /// Another write or a deletion came first. The request is tried again, and compares resource versions again.
    Conflict,
    Rejected(Status),
}

impl From<Status> for WriteFailure {
    fn from(status: Status) -> Self {
        Self::Rejected(status)
    }
}

#[derive(Debug)]
pub(super) struct WriteRequest<'c, 'r> {
    pub(super) ctx: &'c mut RequestContext<'r>,
    pub(super) options: WriteOptions,
    pub(super) schema: Arc<ResourceSchema>,
    pub(super) manager: String,
    pub(super) now: String,
    pub(super) subresource: String,
    /// The client sent a resource version for a new object.
    has_resource_version: bool,
}

impl<'c, 'r> WriteRequest<'c, 'r> {
    pub(super) fn new(ctx: &'c mut RequestContext<'r>, options: WriteOptions) -> Self {
        let subresource = ctx.info.subresource.to_string();
        let schema = ctx.state.schemas.get(&ctx.kinds, &ctx.kind, &subresource);
        Self {
            manager: manager_or_agent(&options.field_manager, ctx.user_agent()),
            now: ctx.state.now_text(),
            schema,
            subresource,
            options,
            has_resource_version: false,
            ctx,
        }
    }

    pub(super) fn writer(&self) -> merge::Writer<'_> {
        merge::Writer {
            manager: &self.manager,
            now: &self.now,
        }
    }

    /// Sets the namespace of the request, or rejects an object with another one.
    pub(super) fn ensure_namespace(&self, object: &mut Value) -> Result<(), Status> {
        let expected = self.ctx.namespace();
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

    /// Rejects an object whose name differs from that in the path.
    pub(super) fn check_name(&self, object: &Value) -> Result<(), Status> {
        let (found, expected) = (name_of(object), self.ctx.name());
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

    /// Creates an object, whose managed fields are set already.
    pub(super) async fn create(&mut self, mut object: Value) -> Result<Outcome, Status> {
        self.take_resource_version(&mut object);
        extensions::check(self.ctx, &object)?;
        let prefix = self.name_prefix(&object);
        let has_generated_name = name_of(&object).is_empty() && !prefix.is_empty();
        self.check_namespace(name_of(&object))?;
        for _ in 0..NAME_ATTEMPTS {
            if has_generated_name {
                let name = names::generate(&prefix)?;
                metadata_of(&mut object).insert("name".to_owned(), name.into());
            }
            let mut attempt = if has_generated_name {
                object.clone()
            } else {
                std::mem::take(&mut object)
            };
            match self.try_create(&mut attempt).await {
                Err(WriteFailure::Rejected(status)) => return Err(status),
                Ok(outcome) => return Ok(outcome),
                Err(WriteFailure::Conflict) if has_generated_name => {}
                Err(WriteFailure::Conflict) => {
                    let name = name_of(&attempt);
                    return Err(Status::already_exists(self.ctx.group_resource(), name));
                }
            }
        }
        Err(Status::generate_name_conflict(
            self.ctx.group_resource(),
            name_of(&object),
        ))
    }

    /// The prefix of a generated name: `generateName`, or the default of the kind.
    fn name_prefix(&self, object: &Value) -> String {
        let requested = object["metadata"]["generateName"].as_str();
        let custom = self.ctx.kind.custom.as_ref();
        let default = custom.and_then(|custom| custom.name_prefix.as_deref());
        let requested = requested.filter(|prefix| !prefix.is_empty());
        requested.or(default).unwrap_or_default().to_owned()
    }

    /// The namespace must exist and not be terminating.
    fn check_namespace(&self, name: &str) -> Result<(), Status> {
        let namespace = self.ctx.namespace();
        if namespace.is_empty() {
            return Ok(());
        }
        let key = namespace_key(namespace)?;
        let Some(object) = self.ctx.state.store.get(&key) else {
            return Err(Status::not_found(
                GroupResource::new("", "namespaces"),
                namespace,
            ));
        };
        if object.metadata().deletion_timestamp().is_some() {
            let resource = self.ctx.group_resource();
            return Err(Status::namespace_terminating(resource, name, namespace));
        }
        Ok(())
    }

    async fn try_create(&mut self, object: &mut Value) -> Result<Outcome, WriteFailure> {
        let state = self.ctx.state;
        let kind = Arc::clone(&self.ctx.kind);
        let _guard = controllers::lock(state, &kind).await;
        let operation = admission::Operation::Create;
        self.mutate(&kind, operation, object)?;
        self.take_resource_version(object);
        wipe_system_fields(object);
        let user = self.ctx.user;
        let creation = Creation {
            now: &self.now,
            uid: &names::random_uid().map_err(Status::from)?,
            user: self.ctx.admission_user(),
        };
        kind.strategy.prepare_for_create(object);
        prepare::create(&kind, object, &creation);
        self.validate(object, None)?;
        self.warn(object, None);
        let attributes = self.attributes(&kind, operation);
        defaults::forget_empty_lists(&kind, object, &Value::Null);
        state.auth.check_escalation(user, &kind, object, None)?;
        if self.has_resource_version {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::unknown(why).into());
        }
        let validate = || admission::validate(&attributes, object, &Lookup(state));
        let warnings = self.ctx.evaluate(validate)??;
        self.ctx.warn_all(warnings);
        let attributes = self.attributes(&kind, operation);
        let key = self.ctx.key_of(name_of(object))?;
        if state.store.get(&key).is_some() {
            return Err(WriteFailure::Conflict);
        }
        let mut allocation = Allocation::new(state, key.clone());
        self.allocate(object, None, &mut allocation)?;
        if self.options.dry_run {
            charge::check(self, &attributes, object)?;
            return Ok(Outcome::DryRun(std::mem::take(object)));
        }
        let encoded = self.encode(object)?;
        let mut operations = Vec::with_capacity(2);
        if !self.ctx.namespace().is_empty() {
            operations.push(Operation::Require {
                key: namespace_key(self.ctx.namespace())?,
                precondition: Precondition::exists(),
            });
        }
        operations.push(Operation::Create { key, encoded });
        let write = charge::and_write(self, &attributes, object, operations);
        let stored = allocation.store(write).await?;
        controllers::after_write(state, &kind, &stored).await;
        Ok(Outcome::Stored(stored))
    }

    /// Replaces an object with one whose managed fields are set already.
    pub(super) async fn replace(
        &mut self,
        mut new: Value,
        old: &Arc<Object>,
        old_value: &Value,
    ) -> Result<Outcome, WriteFailure> {
        let state = self.ctx.state;
        let kind = Arc::clone(&self.ctx.kind);
        let _guard = controllers::lock(state, &kind).await;
        let operation = admission::Operation::Update { old: old_value };
        let version = new["metadata"]["resourceVersion"].clone();
        self.mutate(&kind, operation, &mut new)?;
        if new["metadata"]["resourceVersion"] != version {
            self.check_resource_version(&new, old)?;
        }
        defaults::forget_empty_lists(&kind, &mut new, old_value);
        subresource::prepare_for_update(&kind, &self.subresource, &mut new, old_value, &self.now);
        if self.subresource.is_empty() {
            kind.strategy.prepare_for_update(&mut new);
        }
        self.validate(&new, Some(old_value))?;
        self.warn(&new, Some(old_value));
        defaults::forget_empty_lists(&kind, &mut new, &Value::Null);
        if self.subresource.is_empty() {
            extensions::check(self.ctx, &new)?;
            let user = self.ctx.user;
            state
                .auth
                .check_escalation(user, &kind, &new, Some(old_value))?;
        }
        let attributes = self.attributes(&kind, operation);
        let validate = || admission::validate(&attributes, &new, &Lookup(state));
        let warnings = self.ctx.evaluate(validate)??;
        self.ctx.warn_all(warnings);
        let attributes = self.attributes(&kind, operation);
        let mut allocation = Allocation::new(state, old.key().clone());
        self.allocate(&mut new, Some(old_value), &mut allocation)?;
        ignore_managed_fields_timestamps(old_value, &mut new);
        if self.options.dry_run {
            charge::check(self, &attributes, &new)?;
            return Ok(Outcome::DryRun(new));
        }
        let encoded = self.encode(&new)?;
        let precondition = Precondition::revision(old.revision());
        let key = old.key().clone();
        if should_delete_during_update(&kind, &new, old_value) {
            let written = state
                .store
                .write(Transaction::delete(key, precondition))
                .await;
            let written = written.map_err(|error| write_failure(self.ctx, error))?;
            self.release(old_value, None);
            if let Some(gone) = written.first() {
                controllers::after_delete(state, &kind, gone.key().name()).await;
            }
            return Ok(Outcome::Deleted(new));
        }
        if old.has_content_of(&encoded) {
            return Ok(Outcome::Stored(Arc::clone(old)));
        }
        let replace = Operation::Replace {
            key,
            encoded,
            precondition,
        };
        let write = charge::and_write(self, &attributes, &new, vec![replace]);
        let stored = allocation.store(write).await?;
        self.release(old_value, Some(&new));
        controllers::after_write(state, &kind, &stored).await;
        Ok(Outcome::Stored(stored))
    }

    fn warn(&mut self, new: &Value, old: Option<&Value>) {
        if self.subresource.is_empty() {
            let warnings = warnings::of_write(&self.ctx.kind, new, old);
            self.ctx.warn_all(warnings);
            if let Some(simulation) = self.ctx.state.simulation() {
                let warnings = simulation.warnings(new, old);
                self.ctx.warn_all(warnings);
            }
        }
    }

    fn attributes<'a>(
        &'a self,
        kind: &'a Kind,
        operation: admission::Operation<'a>,
    ) -> Attributes<'a> {
        Attributes {
            subresource: &self.subresource,
            dry_run: self.options.dry_run,
            ..self.ctx.attributes(kind, operation)
        }
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Result<(), Status> {
        let kind = &self.ctx.kind;
        // Patches and defaults may nest deeper than the request.
        if depth::exceeds_limit(new) {
            return Err(Status::bad_request(depth::EXCEEDED));
        }
        let is_status = self.subresource == "status";
        let mut errors = match old {
            None => validation::create(kind, new),
            Some(old) if self.subresource.is_empty() => validation::update(kind, new, old),
            Some(old) => validation::update_status(kind, new, old),
        };
        if kind.custom.is_some() {
            let root = self.schema.schema.root();
            let validate = if is_status {
                schema::validate_custom_resource_status
            } else {
                schema::validate_custom_resource
            };
            errors.extend(self.ctx.evaluate(|| validate(new, old, root))?);
            errors.extend(validation::scale(kind, new, is_status));
        } else if self.subresource.is_empty() {
            let validate = || kind.strategy.validate_schemas(new);
            errors.extend(self.ctx.evaluate(validate)?);
        }
        if errors.is_empty() && self.subresource.is_empty() {
            errors.extend(param_access::check(self.ctx, new, old));
        }
        if errors.is_empty() {
            return Ok(());
        }
        // Errors name the group of the stored version.
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
        self.ctx.kind.strategy.allocates() && self.subresource.is_empty()
    }

    fn allocate(
        &self,
        object: &mut Value,
        old: Option<&Value>,
        allocation: &mut Allocation,
    ) -> Result<(), Status> {
        if !self.allocates() {
            return Ok(());
        }
        let strategy = self.ctx.kind.strategy;
        if self.options.dry_run {
            let mut pool = self.ctx.state.services().dry_run();
            return strategy.allocate(object, old, &mut pool);
        }
        strategy.allocate(object, old, allocation)
    }

    /// Releases the addresses and ports that an object has and `successor` does not.
    fn release(&self, object: &Value, successor: Option<&Value>) {
        if self.allocates() {
            self.ctx.state.services().release(object, successor);
        }
    }

    /// Converts an object to its storage version and encodes it.
    fn encode(&self, object: &Value) -> Result<EncodedObject, Status> {
        let kind = &self.ctx.kind;
        if !convert::needed(kind) {
            return EncodedObject::new(object).map_err(encode_failure);
        }
        let mut stored = object.clone();
        convert::to_storage(kind, &mut stored);
        if kind.custom.is_some()
            && let Some(sibling) =
                self.ctx
                    .kinds
                    .resource(&kind.group, &kind.storage.version, &kind.plural)
        {
            let schema = self.ctx.state.schemas.get(&self.ctx.kinds, sibling, "");
            schema::prune_unknown(&mut stored, schema.schema.root());
            schema::apply_defaults(&mut stored, schema.schema.root());
        }
        EncodedObject::new(&stored).map_err(encode_failure)
    }
}

/// Writes an object of a built-in kind on behalf of the server itself, without a request.
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

/// The response to a write.
pub(super) fn respond(
    ctx: &RequestContext<'_>,
    code: http::StatusCode,
    outcome: Outcome,
) -> Result<crate::negotiation::ApiResponse, Status> {
    match outcome {
        Outcome::Stored(object) => response::object(ctx, code, &object),
        Outcome::Deleted(value) | Outcome::DryRun(value) => response::value(ctx, code, value),
    }
}
