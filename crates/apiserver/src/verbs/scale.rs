//! The size of a workload, as an object of its own: read, written and patched without knowing the workload.

use std::sync::Arc;

use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::selector::LabelSelector;
use outrigger_structural::merge::{self, FieldManager, Path, ReplicasPathMappings};
use outrigger_structural::patch::{self, Decoding};
use serde_json::{Map, Value, json};

use super::call::Call;
use super::decode::{self, metadata_of};
use super::present;
use super::write::{Failure, Outcome, Writing};
use crate::negotiate::{Answer, Content, PatchForm, from_yaml, patch_form};
use crate::request::{FieldValidation, WriteOptions};

const VERSION: &str = "autoscaling/v1";
const ATTEMPTS: usize = 16;

pub(super) async fn run(call: &mut Call<'_>) -> Result<Answer, Status> {
    let key = call.key()?;
    let missing = call.not_found(call.name());
    let place = Place::of(&call.kind);
    if call.verb == "get" {
        let object = call.state.store.get(&key).ok_or(missing)?;
        let parent = present::served_value(call.state, &call.kind, &object)?;
        return Ok(Answer::ok(Content::Value(shown(
            place.scale_of(&call.kind, &parent)?,
        ))));
    }
    let is_patch = call.verb == "patch";
    let form = is_patch
        .then(|| patch_form(call.headers, false))
        .transpose()?;
    let options_kind = if is_patch {
        "PatchOptions"
    } else {
        "UpdateOptions"
    };
    let is_apply = form == Some(PatchForm::Apply);
    let options = WriteOptions::parse(&call.query, options_kind, is_apply)?;
    let mut writing = Writing::new(call, options);
    // The parent is written as if through its main endpoint.
    writing.subresource = String::new();
    for _ in 0..ATTEMPTS {
        let old = writing
            .call
            .state
            .store
            .get(&key)
            .ok_or_else(|| missing.clone())?;
        let parent = present::served_value(writing.call.state, &writing.call.kind, &old)?;
        let scale = place.scale_of(&writing.call.kind, &parent)?;
        let written = write(&writing, form, &scale)?;
        check_version(writing.call, &written, &scale)?;
        let new = place.scaled(&writing.call.kind, &parent, &written)?;
        match writing.replace(new, &old, &parent).await {
            Ok(outcome) => {
                let parent = match outcome {
                    Outcome::Stored(object) => {
                        present::served_value(writing.call.state, &writing.call.kind, &object)?
                    }
                    Outcome::Deleted(value) | Outcome::DryRun(value) => value,
                };
                let scale = place.scale_of(&writing.call.kind, &parent)?;
                return Ok(Answer::new(StatusCode::OK, Content::Value(shown(scale))));
            }
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) if is_patch || is_unconditional(&written) => {}
            Err(Failure::Raced) => break,
        }
    }
    let name = writing.call.name().to_owned();
    Err(Status::modified(writing.call.group_resource(), &name))
}

/// Who owns the fields of a scale is told with its parent only.
fn shown(mut scale: Value) -> Value {
    metadata_of(&mut scale).remove("managedFields");
    scale
}

fn is_unconditional(scale: &Value) -> bool {
    scale["metadata"]["resourceVersion"]
        .as_str()
        .is_none_or(str::is_empty)
}

fn check_version(call: &Call<'_>, written: &Value, scale: &Value) -> Result<(), Status> {
    let is_same = written["metadata"]["resourceVersion"] == scale["metadata"]["resourceVersion"];
    if is_unconditional(written) || is_same {
        return Ok(());
    }
    Err(Status::modified(call.group_resource(), call.name()))
}

/// The scale after the request, with the owners of its fields.
fn write(
    writing: &Writing<'_, '_>,
    form: Option<PatchForm>,
    scale: &Value,
) -> Result<Value, Status> {
    let call = &writing.call;
    let schema = decode::foreign_schema(VERSION, "Scale");
    let kind = merge::Kind {
        api_version: VERSION.to_owned(),
        name: "Scale".to_owned(),
        schemas: [(VERSION.to_owned(), schema.clone())].into(),
    };
    let manager = FieldManager::new(Arc::new(kind), "scale", &[]);
    let reading = match writing.options.validation {
        FieldValidation::Ignore => Decoding::Lenient,
        FieldValidation::Warn | FieldValidation::Strict => Decoding::Strict,
    };
    let patched = match form {
        None => {
            let new = decode::foreign(call, VERSION, "Scale")?;
            writing.check_name(&new)?;
            return Ok(manager.update(Some(scale), new, writing.writer()));
        }
        Some(PatchForm::Apply) => {
            let applied = from_yaml(&call.body)
                .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
            let force = writing.options.force.unwrap_or(false);
            let merged = manager.apply(Some(scale), &applied, writing.writer(), force);
            return merged.map_err(super::patch::apply_failure);
        }
        Some(PatchForm::Json) => patch::json_patch(scale.clone(), &call.body, reading),
        Some(PatchForm::Merge) => patch::merge_patch(scale.clone(), &call.body, reading),
        Some(PatchForm::Strategic) => {
            patch::strategic_merge_patch(scale.clone(), &call.body, schema.root(), reading)
        }
    };
    let patched = patched.map_err(|error| {
        let reason = match error.code() {
            400 => Reason::BadRequest,
            422 => Reason::Invalid,
            _ => Reason::InternalError,
        };
        Status::new(reason, error.to_string())
    })?;
    Ok(manager.update(Some(scale), patched.object, writing.writer()))
}

/// Where the parts of a scale are in its parent.
struct Place {
    spec: Vec<String>,
    status: Vec<String>,
    selector: Option<Vec<String>>,
}

impl Place {
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
                spec: parts(&scale.spec_replicas),
                status: parts(&scale.status_replicas),
                selector: scale.label_selector.as_deref().map(parts),
            },
            None => Self {
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
        let count = |path: &[String]| look(parent, path).and_then(Value::as_i64).unwrap_or(0);
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
            return look(parent, path)?.as_str().map(str::to_owned);
        }
        if kind.custom.is_some() {
            return None;
        }
        let selector = &parent["spec"]["selector"];
        if kind.kind == "ReplicationController" {
            let labels = selector.as_object()?.iter();
            let labels: Vec<_> = labels
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
                .collect();
            return Some(labels.join(","));
        }
        Some(LabelSelector::of_object(selector)?.to_string())
    }

    /// The parent with the size that a scale asks for.
    fn scaled(&self, kind: &Kind, parent: &Value, scale: &Value) -> Result<Value, Status> {
        let mut new = parent.clone();
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let name = parent["metadata"]["name"].as_str().unwrap_or_default();
            let spec = outrigger_apimachinery::status::field::Path::root("spec");
            let place = spec.child("replicas");
            let detail = "must be greater than or equal to 0";
            if kind.custom.is_some() {
                let place = outrigger_apimachinery::status::field::Path::root(".spec.replicas");
                let detail = "should be a non-negative integer";
                let error =
                    outrigger_apimachinery::status::field::Error::invalid(&place, replicas, detail);
                return Err(Status::invalid(kind.group_kind(), name, &[error]));
            }
            let error =
                outrigger_apimachinery::status::field::Error::invalid(&place, replicas, detail);
            let kind = outrigger_apimachinery::GroupKind::new("autoscaling", "Scale");
            return Err(Status::invalid(kind, name, &[error]));
        }
        put(&mut new, &self.spec, replicas.into());
        let entries = merge::scale_to_parent(
            parent,
            scale_entries(scale),
            &self.paths(kind),
            &kind.api_version(),
        )
        .map_err(Status::internal)?;
        let metadata = metadata_of(&mut new);
        metadata.insert("managedFields".to_owned(), entries);
        Ok(new)
    }
}

fn scale_entries(scale: &Value) -> &Value {
    scale
}

fn look<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let mut place = value;
    for name in path {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name.as_str()];
    }
    *place = new;
}
