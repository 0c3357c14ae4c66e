//! Converts errors of writes to responses.

use outrigger_apimachinery::status::{Cause, Details, Reason, Status, field};
use outrigger_apimachinery::{GroupKind, GroupResource};
use outrigger_store::{EncodeError, WriteError};
use outrigger_structural::schema::FieldError;

use super::WriteFailure;
use crate::verbs::RequestContext;

pub(super) fn encode_failure(error: EncodeError) -> Status {
    match error {
        EncodeError::TooLarge { .. } => Status::too_large_body(&error.to_string()),
        EncodeError::Metadata(_) | EncodeError::NotAnObject => {
            Status::bad_request(error.to_string())
        }
        EncodeError::Serialize(_) => Status::internal(error),
    }
}

pub(super) fn write_failure(ctx: &RequestContext<'_>, error: WriteError) -> WriteFailure {
    match error {
        WriteError::AlreadyExists { .. } | WriteError::Conflict { .. } => WriteFailure::Conflict,
        WriteError::NotFound { key } if key.resource() == ctx.resource => {
            WriteFailure::Rejected(ctx.not_found(key.name()))
        }
        WriteError::NotFound { key } => WriteFailure::Rejected(Status::not_found(
            GroupResource::new("", "namespaces"),
            key.name(),
        )),
        other => WriteFailure::Rejected(store_failure(&other)),
    }
}

pub(crate) fn store_failure(error: &WriteError) -> Status {
    match error {
        WriteError::Closed => Status::unavailable("the server is shutting down"),
        WriteError::Storage(source) => Status::internal(source),
        other => Status::internal(other),
    }
}

/// The `Invalid` error with all field errors.
pub(super) fn invalid(
    kind: GroupKind<'_>,
    name: &str,
    errors: &[field::Error],
    details: &[FieldError],
) -> Status {
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.extend(details.iter().map(ToString::to_string));
    let mut seen = Vec::new();
    texts.retain(|text| {
        let is_new = !seen.contains(text);
        seen.push(text.clone());
        is_new
    });
    let text = match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let mut causes: Vec<Cause> = Vec::new();
    causes.extend(errors.iter().map(|error| Cause {
        reason: error.problem.reason().to_owned(),
        message: error.body(),
        field: error.field.clone(),
    }));
    causes.extend(details.iter().map(|error| Cause {
        reason: error.reason.name().to_owned(),
        message: error.body(),
        field: error.field.clone(),
    }));
    let quoted = field::quote(name);
    Status::new(
        Reason::Invalid,
        format!("{kind} {quoted} is invalid: {text}"),
    )
    .with(Details {
        name: name.to_owned(),
        group: kind.group.to_owned(),
        kind: kind.kind.to_owned(),
        causes,
        ..Details::default()
    })
}
