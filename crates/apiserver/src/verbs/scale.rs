//! The `scale` subresource, generic over all workloads.

use std::sync::Arc;

use http::StatusCode;
use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{self, quote};
use outrigger_builtin::kinds::Kind;
use outrigger_structural::merge::{self, FieldManager, Path, ReplicasPathMappings};
use serde_json::{Map, Value, json};

use super::decode::{self, metadata_of};
use super::request_context::RequestContext;
use super::write::{Outcome, WriteFailure, WriteRequest};
use super::{patch, response};
use crate::negotiation::{ApiResponse, Content, PatchType, from_yaml, patch_type};
use crate::request::WriteOptions;

const VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";
const ATTEMPTS: usize = 16;
/// Stands for replicas that a custom resource does not have, while its scale is written.
const UNSET: i32 = i32::MIN;

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let key = ctx.key()?;
    let missing = ctx.not_found(ctx.name());
    let fields = ScaleFields::of(&ctx.kind);
    if ctx.verb == "get" {
        let object = ctx.state.store.get(&key).ok_or(missing)?;
        let parent = response::served_value(ctx.state, &ctx.kind, &object)?;
        fields.require_replicas(&ctx.kind, &parent)?;
        return Ok(ApiResponse::ok(Content::Value(without_managed_fields(
            fields.scale_of(&ctx.kind, &parent)?,
        ))));
    }
    let is_patch = ctx.verb == "patch";
    let form = is_patch
        .then(|| patch_type(ctx.headers, false))
        .transpose()?;
    let options_kind = if is_patch {
        "PatchOptions"
    } else {
        "UpdateOptions"
    };
    let is_apply = form == Some(PatchType::Apply);
    let options = WriteOptions::parse(&ctx.query, options_kind, is_apply)?;
    let mut request = WriteRequest::new(ctx, options);
    // The parent is updated like through its main resource.
    request.subresource = String::new();
    for _ in 0..ATTEMPTS {
        let old = request
            .ctx
            .state
            .store
            .get(&key)
            .ok_or_else(|| missing.clone())?;
        let parent = response::served_value(request.ctx.state, &request.ctx.kind, &old)?;
        let mut scale = fields.scale_of(&request.ctx.kind, &parent)?;
        if fields.require_replicas(&request.ctx.kind, &parent).is_err() {
            scale["spec"]["replicas"] = UNSET.into();
        }
        let written = updated_scale(&mut request, form, &scale)?;
        check_version(request.ctx, &written, &scale)?;
        fields.check_set(&written)?;
        let new = fields.scaled(&request.ctx.kind, &parent, &written)?;
        match request.replace(new, &old, &parent).await {
            Ok(outcome) => {
                let parent = match outcome {
                    Outcome::Stored(object) => {
                        response::served_value(request.ctx.state, &request.ctx.kind, &object)?
                    }
                    Outcome::Deleted(value) | Outcome::DryRun(value) => value,
                };
                let scale = fields.scale_of(&request.ctx.kind, &parent)?;
                return Ok(ApiResponse::new(
                    StatusCode::OK,
                    Content::Value(without_managed_fields(scale)),
                ));
            }
            Err(WriteFailure::Rejected(status)) => return Err(status),
            Err(WriteFailure::Conflict) => {}
        }
    }
    let name = request.ctx.name().to_owned();
    Err(Status::modified(request.ctx.group_resource(), &name))
}

/// Managed fields are shown with the parent only.
fn without_managed_fields(mut scale: Value) -> Value {
    metadata_of(&mut scale).remove("managedFields");
    scale
}

fn is_unconditional(scale: &Value) -> bool {
    scale["metadata"]["resourceVersion"]
        .as_str()
        .is_none_or(str::is_empty)
}

fn check_version(ctx: &RequestContext<'_>, written: &Value, scale: &Value) -> Result<(), Status> {
    let is_same = written["metadata"]["resourceVersion"] == scale["metadata"]["resourceVersion"];
    if is_unconditional(written) || is_same {
        return Ok(());
    }
    Err(Status::modified(ctx.group_resource(), ctx.name()))
}

/// The scale after the request, with its managed fields.
fn updated_scale(
    request: &mut WriteRequest<'_, '_>,
    form: Option<PatchType>,
    scale: &Value,
) -> Result<Value, Status> {
    let schema = decode::schema_of(VERSION, KIND);
    let kind = merge::Kind {
        api_version: VERSION.to_owned(),
        name: KIND.to_owned(),
        schemas: [(VERSION.to_owned(), schema.clone())].into(),
    };
    let manager = FieldManager::new(Arc::new(kind), "scale", &[]);
    let new = match form {
        None => {
            let new = decode::object_as(request.ctx, VERSION, KIND, request.options.validation)?;
            request.check_name(&new)?;
            new
        }
        Some(PatchType::Apply) => {
            let applied = from_yaml(&request.ctx.body).map_err(|error| {
                Status::bad_request(format!("error decoding YAML: {}", error.full_text()))
            })?;
            let force = request.options.force.unwrap_or(false);
            let merged = manager.apply(Some(scale), &applied, request.writer(), force);
            return merged.map_err(patch::apply_failure);
        }
        Some(form) => {
            let target = decode::Target {
                api_version: VERSION,
                kind: KIND,
                schema: &schema,
            };
            patch::patched_as(request, form, scale, target)?
        }
    };
    Ok(manager.update(Some(scale), new, request.writer()))
}

/// The paths of the fields of a scale in its parent.
struct ScaleFields {
    /// The path of the replicas as it was declared.
    declared: String,
    spec: Vec<String>,
    status: Vec<String>,
    selector: Option<Vec<String>>,
}

impl ScaleFields {
    fn of(kind: &Kind) -> Self {
        let parts = |path: &str| {
            path.split('.')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let custom = kind
            .custom
            .as_ref()
            .and_then(|custom| custom.scale.as_ref());
        match custom {
            Some(scale) => Self {
                declared: scale.spec_replicas.clone(),
                spec: parts(&scale.spec_replicas),
                status: parts(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(parts),
            },
            None => Self {
                declared: ".spec.replicas".to_owned(),
                spec: parts("spec.replicas"),
                status: parts("status.replicas"),
                selector: None,
            },
        }
    }

    fn paths(&self, kind: &Kind) -> ReplicasPathMappings {
        let path = Path::of_fields(self.spec.iter().map(String::as_str));
        [(kind.api_version(), Some(path))].into()
    }

    /// Rejects a custom resource without replicas, which has no scale.
    fn require_replicas(&self, kind: &Kind, parent: &Value) -> Result<(), Status> {
        if kind.custom.is_none() || get(parent, &self.spec).is_some() {
            return Ok(());
        }
        let path = quote(&self.declared);
        Err(Status::internal(format!(
            "the spec replicas field {path} does not exist"
        )))
    }

    /// Rejects a scale that does not set the replicas of a custom resource without any.
    fn check_set(&self, scale: &Value) -> Result<(), Status> {
        if scale["spec"]["replicas"] != UNSET {
            return Ok(());
        }
        let path = quote(&self.declared);
        Err(Status::bad_request(format!(
            "the spec replicas field {path} cannot be empty"
        )))
    }

    fn scale_of(&self, kind: &Kind, parent: &Value) -> Result<Value, Status> {
        let metadata = &parent["metadata"];
        let mut own = Map::new();
        for name in [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        ] {
            if let Some(value) = metadata.get(name) {
                own.insert(name.to_owned(), value.clone());
            }
        }
        let entries =
            merge::scale_to_subresource(parent, &self.paths(kind)).map_err(Status::internal)?;
        if entries
            .as_array()
            .is_some_and(|entries| !entries.is_empty())
        {
            own.insert("managedFields".to_owned(), entries);
        }
        let count = |path: &[String]| get(parent, path).and_then(Value::as_i64).unwrap_or(0);
        let mut spec = Map::new();
        let replicas = count(&self.spec);
        if replicas != 0 {
            spec.insert("replicas".to_owned(), replicas.into());
        }
        let mut status = Map::new();
        status.insert("replicas".to_owned(), count(&self.status).into());
        if let Some(selector) = self.selector_text(kind, parent) {
            status.insert("selector".to_owned(), selector.into());
        }
        Ok(json!({
            "kind": "Scale", "apiVersion": VERSION, "metadata": own, "spec": spec, "status": status,
        }))
    }

    fn selector_text(&self, kind: &Kind, parent: &Value) -> Option<String> {
        if let Some(path) = &self.selector {
            return get(parent, path)?.as_str().map(str::to_owned);
        }
        if kind.custom.is_some() {
            return None;
        }
        kind.strategy.scale_selector(parent)
    }

    /// The parent with the replicas of a scale.
    fn scaled(&self, kind: &Kind, parent: &Value, scale: &Value) -> Result<Value, Status> {
        let mut new = parent.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        // Custom resources are validated as a whole.
        if replicas < 0 && kind.custom.is_none() {
            let name = parent["metadata"]["name"].as_str().unwrap_or_default();
            let path = field::Path::root("spec");
            let detail = "must be greater than or equal to 0";
            let error = field::Error::invalid(&path.child("replicas"), replicas, detail);
            let kind = GroupKind::new("autoscaling", "Scale");
            return Err(Status::invalid(kind, name, &[error]));
        }
        put(&mut new, &self.spec, replicas.into());
        let entries = merge::scale_to_parent(parent, scale, &self.paths(kind), &kind.api_version())
            .map_err(Status::internal)?;
        let metadata = metadata_of(&mut new);
        metadata.insert("managedFields".to_owned(), entries);
        Ok(new)
    }
}

fn get<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let mut current = value;
    for name in path {
        if !current.is_object() {
            *current = json!({});
        }
        current = &mut current[name.as_str()];
    }
    *current = new;
}
