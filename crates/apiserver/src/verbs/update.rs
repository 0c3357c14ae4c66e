//! `update`.

use http::StatusCode;
use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::decode::{self, metadata_of};
use super::request_context::RequestContext;
use super::response;
use super::write::{WriteFailure, WriteRequest, respond};
use crate::negotiation::ApiResponse;
use crate::request::WriteOptions;

/// How often an update is tried on conflicts.
const ATTEMPTS: usize = 16;

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = WriteOptions::parse(&ctx.query, "UpdateOptions", false)?;
    let subresource = ctx.info.subresource.to_string();
    let schema = ctx.state.schemas.get(&ctx.kinds, &ctx.kind, &subresource);
    let validation = options.validation;
    let mut object = decode::object(ctx, &schema.schema, validation)?;
    let mut request = WriteRequest::new(ctx, options);
    request.ensure_namespace(&mut object)?;
    request.check_name(&object)?;
    let key = request.ctx.key()?;
    let requested = requested_version(&object)?;
    for _ in 0..ATTEMPTS {
        let Some(old) = request.ctx.state.store.get(&key) else {
            return create(request, object, requested).await;
        };
        check_version(request.ctx, &object, requested, &old)?;
        let old_value = response::served_value(request.ctx.state, &request.ctx.kind, &old)?;
        let manager = &request.schema.manager;
        let new = manager.update(Some(&old_value), object.clone(), request.writer());
        match request.replace(new, &old, &old_value).await {
            Ok(outcome) => return respond(request.ctx, StatusCode::OK, outcome),
            Err(WriteFailure::Rejected(status)) => return Err(status),
            Err(WriteFailure::Conflict) => {}
        }
    }
    let name = request.ctx.name().to_owned();
    Err(Status::modified(request.ctx.group_resource(), &name))
}

/// The resource version that the stored object must have.
pub(super) fn requested_version(object: &Value) -> Result<Option<u64>, Status> {
    match object["metadata"]["resourceVersion"].as_str() {
        None | Some("" | "0") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            let quoted = outrigger_apimachinery::status::field::quote(text);
            Status::unknown(format!(
                "strconv.ParseUint: parsing {quoted}: invalid syntax"
            ))
        }),
    }
}

fn check_version(
    ctx: &RequestContext<'_>,
    object: &Value,
    requested: Option<u64>,
    old: &outrigger_store::Object,
) -> Result<(), Status> {
    let name = ctx.name();
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let found = old.metadata().uid();
    if !uid.is_empty() && uid != found {
        return Err(uid_conflict(ctx, uid, found));
    }
    match requested {
        Some(requested) if requested != old.revision() => {
            Err(Status::modified(ctx.group_resource(), name))
        }
        None if !ctx.kind.writes.unconditional_update => Err(Status::resource_version_required(
            ctx.group_resource(),
            name,
        )),
        _ => Ok(()),
    }
}

/// The object was deleted and created again. The real server includes its etcd key.
pub(super) fn uid_conflict(ctx: &RequestContext<'_>, wanted: &str, found: &str) -> Status {
    let kind = &ctx.kind;
    let mut key = "/registry/".to_owned();
    if kind.custom.is_some() {
        key.push_str(&format!("{}/", kind.group));
    }
    key.push_str(&kind.plural);
    for part in [ctx.namespace(), ctx.name()] {
        if !part.is_empty() {
            key.push_str(&format!("/{part}"));
        }
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    );
    Status::conflict(ctx.group_resource(), ctx.name(), why)
}

/// Some kinds allow create on update.
async fn create(
    mut request: WriteRequest<'_, '_>,
    mut object: Value,
    requested: Option<u64>,
) -> Result<ApiResponse, Status> {
    let ctx = &request.ctx;
    let is_allowed = ctx.kind.writes.create_on_update && request.subresource.is_empty();
    if !is_allowed {
        return Err(ctx.not_found(ctx.name()));
    }
    let uid = object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !uid.is_empty() {
        return Err(uid_conflict(ctx, &uid, ""));
    }
    if requested.is_some() {
        return Err(ctx.not_found(ctx.name()));
    }
    ctx.authorize_create()?;
    metadata_of(&mut object).remove("resourceVersion");
    let object = request
        .schema
        .manager
        .update(None, object, request.writer());
    let outcome = request.create(object).await?;
    respond(request.ctx, StatusCode::CREATED, outcome)
}
