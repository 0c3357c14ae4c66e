//! Changes to an object: JSON patch, merge patch, strategic merge patch, and server-side apply.

use http::StatusCode;
use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::{Cause, Status, field};
use outrigger_structural::merge::ApplyError;
use outrigger_structural::patch::{self, Patched, Reading};
use serde_json::Value;

use super::call::Call;
use super::write::{Failure, Writing, answer};
use super::{decode, present, shown};
use crate::lifecycle::namespaces;
use crate::negotiate::{Answer, PatchForm, from_yaml, patch_form, strict_problem, strict_warnings};
use crate::request::{FieldValidation, WriteOptions};

/// How often a patch is tried again when others are faster.
const ATTEMPTS: usize = 16;

pub(super) async fn run(call: &mut Call<'_>) -> Result<Answer, Status> {
    let form = patch_form(call.headers, call.kind.custom.is_some())?;
    let is_apply = form == PatchForm::Apply;
    let options = WriteOptions::parse(&call.query, "PatchOptions", is_apply)?;
    let mut writing = Writing::new(call, options);
    let key = writing.call.key()?;
    for _ in 0..ATTEMPTS {
        let Some(old) = writing.call.state.store.get(&key) else {
            return create(writing, form).await;
        };
        let old_value = present::served_value(writing.call.state, &writing.call.kind, &old)?;
        let mut new = if is_apply {
            applied(&mut writing, Some(&old_value))?
        } else {
            patched(&mut writing, form, &old_value)?
        };
        writing.settle_namespace(&mut new)?;
        writing.check_name(&new)?;
        check_version(&writing, &new, &old_value)?;
        match writing.replace(new, &old, &old_value).await {
            Ok(outcome) => return answer(writing.call, StatusCode::OK, outcome),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) => {}
        }
    }
    let name = writing.call.name().to_owned();
    Err(Status::modified(writing.call.group_resource(), &name))
}

/// A patch may name the version that it is for.
fn check_version(writing: &Writing<'_, '_>, new: &Value, old: &Value) -> Result<(), Status> {
    let version = |object: &Value| {
        object["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned)
    };
    let call = &writing.call;
    match version(new) {
        None => Ok(()),
        Some(wanted) if wanted.is_empty() || Some(&wanted) == version(old).as_ref() => Ok(()),
        Some(_) => Err(Status::modified(call.group_resource(), call.name())),
    }
}

/// Only an apply makes what is not there.
async fn create(mut writing: Writing<'_, '_>, form: PatchForm) -> Result<Answer, Status> {
    let name = writing.call.name().to_owned();
    let is_allowed = form == PatchForm::Apply && writing.subresource.is_empty();
    if !is_allowed {
        return Err(writing.call.not_found(&name));
    }
    writing.call.authorize_create()?;
    let mut object = applied(&mut writing, None)?;
    if let Some(uid) = object["metadata"]["uid"].as_str() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Status::conflict(writing.call.group_resource(), &name, why));
    }
    // There is no version yet that it could be.
    decode::metadata_of(&mut object).remove("resourceVersion");
    writing.settle_namespace(&mut object)?;
    writing.check_name(&object)?;
    let outcome = writing.create(object).await?;
    if let super::write::Outcome::Stored(stored) = &outcome {
        let call = &writing.call;
        namespaces::created(call.state, &call.kind, stored).await;
    }
    answer(writing.call, StatusCode::CREATED, outcome)
}

/// The live object merged with the configuration in the body.
fn applied(writing: &mut Writing<'_, '_>, live: Option<&Value>) -> Result<Value, Status> {
    let applied = from_yaml(&writing.call.body)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    if !applied.is_object() {
        let found = outrigger_structural::schema::strict::json_type(&applied);
        return Err(Status::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let force = writing.options.force.unwrap_or(false);
    let manager = &writing.shape.manager;
    let merged = manager.apply(live, &applied, writing.writer(), force);
    let mut object = merged.map_err(apply_failure)?;
    if writing.call.kind.custom.is_none() {
        outrigger_builtin::defaults::complete(&writing.call.kind, &mut object)
            .map_err(|error| outrigger_builtin::defaults::wrong_type(&writing.call.kind, &error))?;
    }
    check_repeated(writing)?;
    Ok(object)
}

/// Repeated keys of a configuration are refused, or warned of.
fn check_repeated(writing: &mut Writing<'_, '_>) -> Result<(), Status> {
    let validation = writing.options.validation;
    if validation == FieldValidation::Ignore {
        return Ok(());
    }
    let Some(problem) = strict_problem(&writing.call.body) else {
        return Ok(());
    };
    if validation == FieldValidation::Strict {
        let why = problem.full_text();
        return Err(Status::bad_request(format!(
            "error strict decoding YAML: {why}"
        )));
    }
    for warning in strict_warnings(&problem) {
        writing.call.warn(warning);
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

/// A failure whose text stands for itself.
fn plain_failure(message: String) -> Status {
    Status::unexplained(message)
}

/// The object that a patch makes of the old one, with the owners of its fields.
fn patched(writing: &mut Writing<'_, '_>, form: PatchForm, old: &Value) -> Result<Value, Status> {
    let reading = match writing.options.validation {
        FieldValidation::Ignore => Reading::Loose,
        FieldValidation::Warn | FieldValidation::Strict => Reading::Strict,
    };
    let body = writing.call.body.clone();
    let root = writing.shape.schema.root();
    let result = match form {
        PatchForm::Json => patch::json_patch(old.clone(), &body, reading),
        PatchForm::Merge => patch::merge_patch(old.clone(), &body, reading),
        PatchForm::Strategic | PatchForm::Apply => {
            patch::strategic_merge_patch(old.clone(), &body, root, reading)
        }
    };
    let Patched {
        mut object,
        mut complaints,
    } = result.map_err(|error| patch_failure(&error))?;
    let shown = match form {
        PatchForm::Json | PatchForm::Merge => {
            let text = String::from_utf8_lossy(&body);
            shown::patched(&object, text.contains("metadata"))
        }
        PatchForm::Strategic | PatchForm::Apply => {
            let patch = serde_json::from_slice(&body).unwrap_or_default();
            shown::go_map(&patch)
        }
    };
    let shape = writing.shape.clone();
    let unknown = complete(writing, &mut object, &shape.schema, form, &shown)?;
    if reading == Reading::Strict {
        complaints.extend(unknown);
    }
    match writing.options.validation {
        _ if complaints.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", complaints.join(", "));
            return Err(unfit(&shown, &why));
        }
        FieldValidation::Warn => {
            for complaint in complaints {
                writing.call.warn(complaint);
            }
        }
        FieldValidation::Ignore => {}
    }
    Ok(shape.manager.update(Some(old), object, writing.writer()))
}

fn complete(
    writing: &Writing<'_, '_>,
    object: &mut Value,
    schema: &outrigger_structural::schema::Schema,
    form: PatchForm,
    shown: &str,
) -> Result<Vec<String>, Status> {
    let call = &writing.call;
    let is_kind = object["apiVersion"] == call.kind.api_version().as_str()
        && object["kind"] == call.kind.kind.as_str();
    if !is_kind {
        let why = decode::type_problem(call, object);
        return Err(unfit(shown, &why));
    }
    decode::form(call, object, schema).map_err(|why| match form {
        PatchForm::Strategic => unfit(shown, &restore_problem(&why)),
        _ => unfit(shown, &why),
    })
}

/// A strategic patch is read by another decoder, which has other words for a value of a wrong type.
fn restore_problem(why: &str) -> String {
    let parts = why
        .strip_prefix("json: cannot unmarshal ")
        .and_then(|rest| rest.split_once(" into Go "))
        .and_then(|(found, rest)| Some((found, rest.rsplit_once(" of type ")?.1)));
    let Some((found, wanted)) = parts else {
        return why.to_owned();
    };
    let found = match found.split(' ').next().unwrap_or_default() {
        "object" => "map",
        "array" => "slice",
        "number" => "int64",
        other => other,
    };
    match wanted {
        _ if wanted.starts_with("[]") => format!("cannot restore slice from {found}"),
        _ if wanted.starts_with("map[") => format!("cannot restore map from {found}"),
        _ if wanted.contains('.') => format!("cannot restore struct from: {found}"),
        _ => format!("unrecognized type: {wanted}"),
    }
}

/// What a patch makes is no object of the kind.
fn unfit(shown: &str, why: &str) -> Status {
    let place = field::Path::root("patch");
    let error = field::Error::invalid(&place, shown, why);
    Status::invalid(GroupKind::new("", ""), "", &[error])
}

fn patch_failure(error: &patch::Error) -> Status {
    let message = error.to_string();
    match error {
        patch::Error::BadRequest(_) => Status::bad_request(message),
        patch::Error::TooLarge(_) => Status::too_large_body(&message),
        patch::Error::Unprocessable(_) => Status::unprocessable(message),
        patch::Error::Internal(_) => plain_failure(message),
    }
}
