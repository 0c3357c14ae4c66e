//! An object in the place of another.

use http::StatusCode;
use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::call::Call;
use super::decode::{self, metadata_of};
use super::present;
use super::write::{Failure, Writing, answer};
use crate::negotiate::Answer;
use crate::request::WriteOptions;

/// How often a write is tried again that names no version.
const ATTEMPTS: usize = 16;

pub(super) async fn run(call: &mut Call<'_>) -> Result<Answer, Status> {
    let options = WriteOptions::parse(&call.query, "UpdateOptions", false)?;
    let subresource = call.place.subresource.to_string();
    let shape = call.state.shapes.get(&call.kinds, &call.kind, &subresource);
    let validation = options.validation;
    let mut object = decode::object(call, &shape.schema, validation)?;
    let mut writing = Writing::new(call, options);
    writing.settle_namespace(&mut object)?;
    writing.check_name(&object)?;
    let key = writing.call.key()?;
    let asked = match object["metadata"]["resourceVersion"].as_str() {
        None | Some("" | "0") => None,
        Some(text) => Some(text.parse().map_err(|_| {
            let quoted = outrigger_apimachinery::status::field::quote(text);
            Status::unknown(format!(
                "strconv.ParseUint: parsing {quoted}: invalid syntax"
            ))
        })?),
    };
    for _ in 0..ATTEMPTS {
        let Some(old) = writing.call.state.store.get(&key) else {
            return create(writing, object, asked).await;
        };
        check_version(writing.call, &object, asked, &old)?;
        let old_value = present::served_value(writing.call.state, &writing.call.kind, &old)?;
        let manager = &writing.shape.manager;
        let new = manager.update(Some(&old_value), object.clone(), writing.writer());
        match writing.replace(new, &old, &old_value).await {
            Ok(outcome) => return answer(writing.call, StatusCode::OK, outcome),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) if asked.is_none() => {}
            Err(Failure::Raced) => break,
        }
    }
    let name = writing.call.name().to_owned();
    Err(Status::modified(writing.call.group_resource(), &name))
}

fn check_version(
    call: &Call<'_>,
    object: &Value,
    asked: Option<u64>,
    old: &outrigger_store::Object,
) -> Result<(), Status> {
    let name = call.name();
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let found = old.metadata().uid();
    if !uid.is_empty() && uid != found {
        return Err(uid_conflict(call, uid, found));
    }
    match asked {
        Some(asked) if asked != old.revision() => {
            Err(Status::modified(call.group_resource(), name))
        }
        None if !call.kind.writes.unconditional_update => Err(Status::resource_version_required(
            call.group_resource(),
            name,
        )),
        _ => Ok(()),
    }
}

/// The object is another one of the same name. The real server tells where it keeps it.
pub(super) fn uid_conflict(call: &Call<'_>, wanted: &str, found: &str) -> Status {
    let kind = &call.kind;
    let mut key = "/registry/".to_owned();
    if kind.custom.is_some() {
        key.push_str(&format!("{}/", kind.group));
    }
    key.push_str(&kind.plural);
    for part in [call.namespace(), call.name()] {
        if !part.is_empty() {
            key.push_str(&format!("/{part}"));
        }
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    );
    Status::conflict(call.group_resource(), call.name(), why)
}

/// Some kinds are created by an update of a name that is free.
async fn create(
    mut writing: Writing<'_, '_>,
    mut object: Value,
    asked: Option<u64>,
) -> Result<Answer, Status> {
    let call = &writing.call;
    let is_allowed = call.kind.writes.create_on_update && writing.subresource.is_empty();
    if !is_allowed {
        return Err(call.not_found(call.name()));
    }
    let uid = object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !uid.is_empty() {
        return Err(uid_conflict(call, &uid, ""));
    }
    if asked.is_some() {
        return Err(call.not_found(call.name()));
    }
    call.authorize_create()?;
    metadata_of(&mut object).remove("resourceVersion");
    let object = writing.shape.manager.update(None, object, writing.writer());
    let outcome = writing.create(object).await?;
    answer(writing.call, StatusCode::CREATED, outcome)
}
