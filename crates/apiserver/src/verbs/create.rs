//! A new object.

use http::StatusCode;
use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::call::Call;
use super::decode::metadata_of;
use super::write::{Outcome, Writing, answer};
use super::{decode, present};
use crate::lifecycle;
use crate::negotiate::Answer;
use crate::request::WriteOptions;

pub(super) async fn run(call: &mut Call<'_>) -> Result<Answer, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions", false)?;
    if !call.kind.is_stored() {
        return review(call, options).await;
    }
    let shape = call.state.shapes.get(&call.kinds, &call.kind, "");
    let validation = options.validation;
    let mut object = decode::object(call, &shape.schema, validation)?;
    wipe(&mut object);
    let mut writing = Writing::new(call, options);
    writing.settle_namespace(&mut object)?;
    let object = writing.shape.manager.update(None, object, writing.writer());
    let outcome = writing.create(object).await?;
    if let Outcome::Stored(stored) = &outcome {
        lifecycle::after_create(call.state, &call.kind, stored).await;
    }
    answer(call, StatusCode::CREATED, outcome)
}

/// What a client cannot say about a new object.
fn wipe(object: &mut Value) {
    let metadata = metadata_of(object);
    for name in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(name);
    }
}

/// Kinds that are answered and forgotten.
async fn review(call: &mut Call<'_>, options: WriteOptions) -> Result<Answer, Status> {
    let kind = call.kind.clone();
    let object = decode::foreign(call, &kind.api_version(), &kind.kind)?;
    if kind.plural == "bindings" {
        return super::binding::bind(call, &object).await;
    }
    let mut object = object;
    let object = {
        let writing = Writing::new(call, options);
        if kind.namespaced {
            writing.settle_namespace(&mut object)?;
        }
        writing.shape.manager.update(None, object, writing.writer())
    };
    match call.state.auth.review(&kind.plural, call.who, object) {
        Some(result) => present::value(call, StatusCode::CREATED, result?),
        None => Err(Status::method_not_allowed()),
    }
}
