//! `delete`: at once, after finalizers, or after the grace period.

use std::sync::Arc;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use outrigger_admission::{self as admission, Attributes, ClusterState as _};
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::prepare::service::Allocator as _;
use outrigger_builtin::strategy::raise_generation;
use outrigger_store::{EncodedObject, Key, Object, Precondition, Transaction, WriteError};
use serde_json::{Value, json};

use super::decode::{self, metadata_of};
use super::request_context::RequestContext;
use super::response;
use super::write::store_failure;
use crate::controllers;
use crate::negotiation::{ApiResponse, Content};
use crate::request::{DeleteOptions, Propagation, go_seconds};
use crate::server::{Lookup, State};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const ATTEMPTS: usize = 16;

#[derive(Debug)]
pub(crate) enum DeleteOutcome {
    /// The object is removed; this was its last version.
    Removed(Arc<Object>),
    /// Finalizers, contents or a grace period keep the object.
    Pending(Arc<Object>),
}

impl DeleteOutcome {
    pub(super) fn object(&self) -> &Arc<Object> {
        match self {
            Self::Removed(object) | Self::Pending(object) => object,
        }
    }
}

pub(super) async fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = options(ctx)?;
    let key = ctx.key()?;
    admit(ctx, &key)?;
    let deleted = delete_object(ctx.state, &ctx.kind, &key, &options).await?;
    let is_accepted =
        matches!(deleted, DeleteOutcome::Pending(_)) && options.orphan_dependents == Some(false);
    let code = if is_accepted {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    match &deleted {
        DeleteOutcome::Removed(object) if ctx.kind.deletion.graceful => {
            // The response shows an expired grace period.
            let mut value = response::served_value(ctx.state, &ctx.kind, object)?;
            let is_deleting = value["metadata"]["deletionTimestamp"].is_string();
            set_deletion(&mut value, ctx.state.now(), 0);
            if !is_deleting {
                raise_generation(&mut value);
            }
            response::value(ctx, code, value)
        }
        DeleteOutcome::Removed(object) if !ctx.kind.deletion.returns_object => {
            let status = Status::deleted(ctx.group_resource(), ctx.name(), object.metadata().uid());
            let value = serde_json::to_value(status).map_err(Status::internal)?;
            Ok(ApiResponse::new(code, Content::Value(value)))
        }
        deleted => response::object(ctx, code, deleted.object()),
    }
}

/// Rejects a deletion that an admission policy denies.
pub(super) fn admit(ctx: &RequestContext<'_>, key: &Key) -> Result<(), Status> {
    let cluster = Lookup(ctx.state);
    if cluster.validating_policies().is_empty() {
        return Ok(());
    }
    let Some(object) = ctx.state.store.get(key) else {
        return Ok(());
    };
    let value = response::served_value(ctx.state, &ctx.kind, &object)?;
    let attributes = Attributes {
        namespace: key.namespace(),
        ..ctx.attributes(&ctx.kind, admission::Operation::Delete)
    };
    let validate = || admission::validate(&attributes, &value, &cluster);
    ctx.evaluate(validate)?.map(drop)
}

/// `DeleteOptions` from the body if there is one, otherwise from the query.
pub(super) fn options(ctx: &RequestContext<'_>) -> Result<DeleteOptions, Status> {
    if ctx.body.is_empty() {
        return DeleteOptions::from_query(&ctx.query);
    }
    DeleteOptions::from_body(&decode::delete_options(ctx)?)
}

/// Deletes an object, or sets its `deletionTimestamp`.
pub(crate) async fn delete_object(
    state: &Arc<State>,
    kind: &Kind,
    key: &Key,
    options: &DeleteOptions,
) -> Result<DeleteOutcome, Status> {
    let resource = kind.group_resource();
    if let Err(reason) = kind.strategy.check_delete(key.name()) {
        return Err(Status::forbidden(resource, key.name(), reason));
    }
    // Until the hooks are done: a definition that is finalized meanwhile would be served again.
    let _guard = controllers::lock(state, kind).await;
    for _ in 0..ATTEMPTS {
        let Some(old) = state.store.get(key) else {
            return Err(Status::not_found(resource, key.name()));
        };
        check_preconditions(kind, &old, options)?;
        let mut value = response::stored_value(&old)?;
        let result = match next_step(state, kind, &mut value, options) {
            Step::Remove if options.dry_run => return Ok(DeleteOutcome::Removed(old)),
            Step::Remove => remove(state, kind, &old, &value).await,
            Step::Wait => return Ok(DeleteOutcome::Pending(old)),
            Step::Update => write_pending(state, kind, &old, &value, options.dry_run).await,
        };
        match result {
            Ok(deleted) => return Ok(deleted),
            Err(WriteError::Conflict { .. }) => {}
            Err(WriteError::NotFound { .. }) => {
                return Err(Status::not_found(resource, key.name()));
            }
            Err(error) => return Err(store_failure(&error)),
        }
    }
    Err(Status::modified(resource, key.name()))
}

fn check_preconditions(kind: &Kind, old: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let name = old.key().name();
    let uid = old.metadata().uid();
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        return Err(Status::uid_precondition_failed(
            kind.group_kind(),
            name,
            wanted,
            uid,
        ));
    }
    let version = old.revision().to_string();
    match options.resource_version.as_deref() {
        Some(wanted) if wanted != version => Err(Status::resource_version_precondition_failed(
            kind.group_kind(),
            name,
            wanted,
            &version,
        )),
        _ => Ok(()),
    }
}

/// The next step of a deletion.
enum Step {
    Remove,
    /// The deletion is pending already.
    Wait,
    /// The object has changed and must be written.
    Update,
}

fn next_step(state: &State, kind: &Kind, value: &mut Value, options: &DeleteOptions) -> Step {
    let before = value.clone();
    let now = state.now();
    let grace = grace_period(kind, value, options);
    let finalizers_changed = set_finalizers(kind, value, options);
    let is_deleting = value["metadata"]["deletionTimestamp"].is_string();
    let has_finalizers = !finalizers(value).is_empty();
    let strategy = kind.strategy;
    let has_contents = strategy.deletes_contents_first();
    if grace == 0 && !has_finalizers && !has_contents {
        return Step::Remove;
    }
    if is_deleting {
        let pending = value["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0);
        if pending > 0 && grace < pending {
            let (time, grace) = shortened(value, pending, grace, now);
            set_deletion(value, time, grace);
        } else if has_contents && strategy.is_finalized(value) {
            return Step::Remove;
        } else if !finalizers_changed {
            return Step::Wait;
        }
    } else {
        set_deletion(value, after(now, go_seconds(grace)), grace);
        strategy.begin_deletion(value, &crate::server::time_text(now));
    }
    if *value == before {
        Step::Wait
    } else {
        Step::Update
    }
}

/// The time and the grace period of a pending deletion with a shorter grace period. If that has expired, the deletion
/// stays graceful for the shortest time.
fn shortened(value: &Value, pending: i64, grace: i64, now: Timestamp) -> (Timestamp, i64) {
    let until = value["metadata"]["deletionTimestamp"].as_str();
    let until: Timestamp = until.and_then(|text| text.parse().ok()).unwrap_or(now);
    let began = after(until, go_seconds(pending.wrapping_neg()));
    let until = after(began, go_seconds(grace));
    if until < now {
        return (now, grace.min(1));
    }
    (until, grace)
}

/// The first or the last time that exists, if the sum does not.
fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    let limit = if duration.is_negative() {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    time.checked_add(duration).unwrap_or(limit)
}

fn set_deletion(value: &mut Value, time: Timestamp, grace: i64) {
    let metadata = metadata_of(value);
    metadata.insert(
        "deletionTimestamp".to_owned(),
        crate::server::time_text(time).into(),
    );
    metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
}

/// Only a Pod that has a node and has not terminated needs a grace period.
fn grace_period(kind: &Kind, value: &Value, options: &DeleteOptions) -> i64 {
    if !kind.deletion.graceful {
        return 0;
    }
    let spec = &value["spec"];
    let requested = match options.grace_period {
        Some(seconds) if seconds < 0 => 1,
        Some(seconds) => seconds,
        None => match value["metadata"]["deletionGracePeriodSeconds"].as_i64() {
            Some(pending) => pending,
            None => spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30),
        },
    };
    let has_node = spec["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let phase = value["status"]["phase"].as_str().unwrap_or_default();
    if !has_node || matches!(phase, "Failed" | "Succeeded") {
        return 0;
    }
    requested.max(0)
}

fn finalizers(value: &Value) -> Vec<String> {
    let finalizers = value["metadata"]["finalizers"].as_array();
    let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
    finalizers.map(str::to_owned).collect()
}

/// Sets or removes the finalizers of the garbage collector according to the propagation policy.
fn set_finalizers(kind: &Kind, value: &mut Value, options: &DeleteOptions) -> bool {
    if kind.deletion.without_garbage_collection {
        return false;
    }
    let old = finalizers(value);
    let has = |name: &str| old.iter().any(|finalizer| finalizer == name);
    let policy = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) => Propagation::Orphan,
        (None, Some(policy)) => policy,
        (None, None) if has(ORPHAN) => Propagation::Orphan,
        (None, None) if has(FOREGROUND) => Propagation::Foreground,
        (None, None) if kind.deletion.orphans_by_default => Propagation::Orphan,
        (Some(false), _) | (None, None) => Propagation::Background,
    };
    let mut new: Vec<String> = old.clone();
    new.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
    match policy {
        Propagation::Orphan => new.push(ORPHAN.to_owned()),
        Propagation::Foreground => new.push(FOREGROUND.to_owned()),
        Propagation::Background => {}
    }
    let is_same = old.len() == new.len() && new.iter().all(|finalizer| old.contains(finalizer));
    if is_same {
        return false;
    }
    let metadata = metadata_of(value);
    if new.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), json!(new));
    }
    true
}

async fn remove(
    state: &Arc<State>,
    kind: &Kind,
    old: &Arc<Object>,
    value: &Value,
) -> Result<DeleteOutcome, WriteError> {
    let precondition = Precondition::revision(old.revision());
    let transaction = Transaction::delete(old.key().clone(), precondition);
    let written = state.store.write(transaction).await?;
    if kind.strategy.allocates() {
        state.services().release(value, None);
    }
    controllers::after_delete(state, kind, old.key().name()).await;
    let removed = written.first().cloned().unwrap_or_else(|| Arc::clone(old));
    Ok(DeleteOutcome::Removed(removed))
}

async fn write_pending(
    state: &Arc<State>,
    kind: &Kind,
    old: &Arc<Object>,
    value: &Value,
    dry_run: bool,
) -> Result<DeleteOutcome, WriteError> {
    if dry_run {
        return Ok(DeleteOutcome::Pending(Arc::clone(old)));
    }
    let key = old.key().clone();
    let Ok(encoded) = EncodedObject::new(value) else {
        return Err(WriteError::NotFound { key });
    };
    let transaction = Transaction::replace(key, encoded, Precondition::revision(old.revision()));
    let written = state.store.write(transaction).await?;
    let pending = written.first().cloned().unwrap_or_else(|| Arc::clone(old));
    controllers::after_deletion_began(state, kind, &pending);
    Ok(DeleteOutcome::Pending(pending))
}
