//! `patch`: JSON patch, merge patch, strategic merge patch and server-side apply.

use std::sync::Arc;

use http::StatusCode;
use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::{Cause, Reason, Status, field};
use outrigger_builtin::defaults;
use outrigger_store::Object;
use outrigger_structural::depth;
use outrigger_structural::merge::ApplyError;
use outrigger_structural::patch::{self, Decoding, Patched};
use outrigger_structural::schema::{DecodeError, strict};
use serde_json::Value;

use super::request_context::RequestContext;
use super::update::requested_version;
use super::write::{WriteFailure, WriteRequest, respond};
use super::{decode, go_format, response};
use crate::controllers;
use crate::negotiation::{
    ApiResponse, PatchType, from_yaml, patch_type, strict_error, strict_warnings,
};
use crate::request::{FieldValidation, WriteOptions};

/// How often a patch is retried on conflicts.
const ATTEMPTS: usize = 16;

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let patch_type = patch_type(ctx.headers, ctx.kind.custom.is_some())?;
    let is_apply = patch_type == PatchType::Apply;
    let options = WriteOptions::parse(&ctx.query, "PatchOptions", is_apply)?;
    let mut request = WriteRequest::new(ctx, options);
    let key = request.ctx.key()?;
    for _ in 0..ATTEMPTS {
        let Some(old) = request.ctx.state.store.get(&key) else {
            match create(&mut request, patch_type).await {
                // Created meanwhile: applied to the object that exists now.
                Err(status) if status.reason == Some(Reason::AlreadyExists) => continue,
                created => return created,
            }
        };
        let old_value = response::served_value(request.ctx.state, &request.ctx.kind, &old)?;
        if depth::exceeds_limit(&old_value) {
            response::check_patchable(&request.ctx.kind, &old)?;
        }
        let mut new = if is_apply {
            applied(&mut request, Some(&old_value))?
        } else {
            patched(&mut request, patch_type, &old_value)?
        };
        request.ensure_namespace(&mut new)?;
        request.check_name(&new)?;
        check_version(&request, &new, &old)?;
        match request.replace(new, &old, &old_value).await {
            Ok(outcome) => return respond(request.ctx, StatusCode::OK, outcome),
            Err(WriteFailure::Rejected(status)) => return Err(status),
            Err(WriteFailure::Conflict) => {}
        }
    }
    let name = request.ctx.name().to_owned();
    Err(Status::modified(request.ctx.group_resource(), &name))
}

/// Rejects a patch for another resource version.
fn check_version(request: &WriteRequest<'_, '_>, new: &Value, old: &Object) -> Result<(), Status> {
    let ctx = &request.ctx;
    match requested_version(new)? {
        Some(wanted) if wanted != old.revision() => {
            Err(Status::modified(ctx.group_resource(), ctx.name()))
        }
        _ => Ok(()),
    }
}

/// Only an apply creates a missing object.
async fn create(
    request: &mut WriteRequest<'_, '_>,
    patch_type: PatchType,
) -> Result<ApiResponse, Status> {
    let name = request.ctx.name().to_owned();
    let is_allowed = patch_type == PatchType::Apply && request.subresource.is_empty();
    if !is_allowed {
        return Err(request.ctx.not_found(&name));
    }
    request.ctx.authorize_create()?;
    let mut object = applied(request, None)?;
    if let Some(uid) = object["metadata"]["uid"].as_str() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Status::conflict(request.ctx.group_resource(), &name, why));
    }
    // A new object has no resource version.
    decode::metadata_of(&mut object).remove("resourceVersion");
    request.ensure_namespace(&mut object)?;
    request.check_name(&object)?;
    let outcome = request.create(object).await?;
    if let super::write::Outcome::Stored(stored) = &outcome {
        let ctx = &request.ctx;
        controllers::after_create(ctx.state, &ctx.kind, stored).await;
    }
    respond(request.ctx, StatusCode::CREATED, outcome)
}

/// Server-side apply: merges the applied configuration into the live object.
fn applied(request: &mut WriteRequest<'_, '_>, live: Option<&Value>) -> Result<Value, Status> {
    let applied = from_yaml(&request.ctx.body).map_err(|error| {
        Status::bad_request(format!("error decoding YAML: {}", error.full_text()))
    })?;
    if !applied.is_object() {
        let found = strict::json_type(&applied);
        return Err(Status::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let force = request.options.force.unwrap_or(false);
    let manager = &request.schema.manager;
    let merged = manager.apply(live, &applied, request.writer(), force);
    let mut object = merged.map_err(apply_failure)?;
    if request.ctx.kind.custom.is_none() {
        defaults::complete(&request.ctx.kind, &mut object)
            .map_err(|error| defaults::wrong_type(&request.ctx.kind, &error))?;
    }
    check_duplicate_keys(request)?;
    Ok(object)
}

/// Rejects duplicate keys of an applied configuration, or warns about them.
fn check_duplicate_keys(request: &mut WriteRequest<'_, '_>) -> Result<(), Status> {
    let validation = request.options.validation;
    if validation == FieldValidation::Ignore {
        return Ok(());
    }
    let Some(error) = strict_error(&request.ctx.body) else {
        return Ok(());
    };
    if validation == FieldValidation::Strict {
        let why = error.full_text();
        return Err(Status::bad_request(format!(
            "error strict decoding YAML: {why}"
        )));
    }
    for warning in strict_warnings(&error) {
        request.ctx.warn(warning);
    }
    Ok(())
}

pub(super) fn apply_failure(error: ApplyError) -> Status {
    match error {
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts.0.iter().map(|conflict| Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: format!("conflict with {}", conflict.manager),
                field: conflict.field.to_string(),
            });
            Status::apply_conflict(conflicts.to_string(), causes.collect())
        }
        ApplyError::BadRequest(message) => Status::bad_request(message),
        ApplyError::Internal(message) => plain_failure(message),
    }
}

/// An error whose message is sent as it is.
fn plain_failure(message: String) -> Status {
    Status::unknown(message)
}

/// The patched object with its managed fields.
fn patched(
    request: &mut WriteRequest<'_, '_>,
    patch_type: PatchType,
    old: &Value,
) -> Result<Value, Status> {
    let schema = request.schema.clone();
    let kind = Arc::clone(&request.ctx.kind);
    let target = decode::Target {
        api_version: &kind.api_version(),
        kind: &kind.kind,
        schema: &schema.schema,
    };
    let object = patched_as(request, patch_type, old, target)?;
    Ok(schema.manager.update(Some(old), object, request.writer()))
}

/// The patched object, decoded as `target`.
pub(super) fn patched_as(
    request: &mut WriteRequest<'_, '_>,
    patch_type: PatchType,
    old: &Value,
    target: decode::Target<'_>,
) -> Result<Value, Status> {
    let decoding = match request.options.validation {
        FieldValidation::Ignore => Decoding::Lenient,
        FieldValidation::Warn | FieldValidation::Strict => Decoding::Strict,
    };
    let body = request.ctx.body.clone();
    let root = target.schema.root();
    let result = match patch_type {
        PatchType::Json => patch::json_patch(old.clone(), &body, decoding),
        PatchType::Merge => patch::merge_patch(old.clone(), &body, decoding),
        PatchType::Strategic | PatchType::Apply => {
            patch::strategic_merge_patch(old.clone(), &body, root, decoding)
        }
    };
    let Patched {
        mut object,
        mut strict_errors,
    } = result.map_err(|error| patch_failure(&error))?;
    let shown = match patch_type {
        PatchType::Json | PatchType::Merge => {
            let text = String::from_utf8_lossy(&body);
            go_format::patched(&object, text.contains("metadata"))
        }
        PatchType::Strategic | PatchType::Apply => {
            let patch = strict::parse(&body).map_or_else(|_| Value::Null, |(patch, _)| patch);
            go_format::go_map(&patch)
        }
    };
    let unknown = complete(request, &mut object, target, patch_type, &shown)?;
    if decoding == Decoding::Strict {
        strict_errors.extend(unknown);
    }
    match request.options.validation {
        _ if strict_errors.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", strict_errors.join(", "));
            return Err(invalid_patch(&shown, &why));
        }
        FieldValidation::Warn => {
            for error in strict_errors {
                request.ctx.warn(error);
            }
        }
        FieldValidation::Ignore => {}
    }
    Ok(object)
}

fn complete(
    request: &WriteRequest<'_, '_>,
    object: &mut Value,
    target: decode::Target<'_>,
    patch_type: PatchType,
    shown: &str,
) -> Result<Vec<String>, Status> {
    let ctx = &request.ctx;
    if patch_type == PatchType::Strategic
        && object["apiVersion"].is_null()
        && object["kind"].is_null()
    {
        // `FromUnstructured` knows the type. A patch removes both with `$patch: replace`.
        object["apiVersion"] = target.api_version.into();
        object["kind"] = target.kind.into();
    }
    let is_kind = object["apiVersion"] == target.api_version && object["kind"] == target.kind;
    if !is_kind {
        let why = decode::type_error(ctx, object, target);
        return Err(invalid_patch(shown, &why));
    }
    target
        .convert(ctx, object)
        .map_err(|error| match patch_type {
            PatchType::Strategic => invalid_patch(shown, &from_unstructured_error(&error)),
            _ => invalid_patch(shown, &error.to_string()),
        })
}

/// A strategic merge patch is decoded by `FromUnstructured`, which reports a type mismatch in other words than the
/// JSON decoder.
fn from_unstructured_error(error: &DecodeError) -> String {
    let DecodeError::Mismatch { value, go_type, .. } = error else {
        return error.to_string();
    };
    let found = match value.split(' ').next().unwrap_or_default() {
        "object" => "map",
        "array" => "slice",
        "number" => "int64",
        other => other,
    };
    match go_type.as_str() {
        slice if slice.starts_with("[]") => format!("cannot restore slice from {found}"),
        map if map.starts_with("map[") => format!("cannot restore map from {found}"),
        named if named.contains('.') => format!("cannot restore struct from: {found}"),
        scalar => format!("unrecognized type: {scalar}"),
    }
}

/// The error for a patched object that does not decode as its kind.
fn invalid_patch(shown: &str, why: &str) -> Status {
    let path = field::Path::root("patch");
    let error = field::Error::invalid(&path, shown, why);
    Status::invalid(GroupKind::new("", ""), "", &[error])
}

fn patch_failure(error: &patch::Error) -> Status {
    let message = error.to_string();
    match error {
        patch::Error::BadRequest(_) => Status::bad_request(message),
        patch::Error::TooLarge(_) => Status::request_entity_too_large(&message),
        patch::Error::Unprocessable(_) => Status::unprocessable(message),
        patch::Error::Internal(_) => plain_failure(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, go_type: &str, expected: &str) {
        let error = DecodeError::Mismatch {
            value: value.to_owned(),
            field: "DeploymentSpec.spec.replicas of type string".to_owned(),
            go_type: go_type.to_owned(),
        };
        assert_eq!(from_unstructured_error(&error), expected);
    }

    #[test]
    fn reports_type_mismatches_of_strategic_merge_patches_as_from_unstructured_does() {
        check("string", "int32", "unrecognized type: int32");
        check("object", "[]v1.Container", "cannot restore slice from map");
        check(
            "number 1.5",
            "map[string]string",
            "cannot restore map from int64",
        );
        check("array", "v1.PodSpec", "cannot restore struct from: slice");
        let other = DecodeError::Invalid("unexpected EOF".to_owned());
        assert_eq!(from_unstructured_error(&other), "unexpected EOF");
    }
}
