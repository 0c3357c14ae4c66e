//! Converts errors of writes to responses.

use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_store::{EncodeError, StorageError, WriteError};

use super::WriteFailure;
use crate::verbs::RequestContext;

pub(super) fn encode_failure(error: EncodeError) -> Status {
    match error {
        EncodeError::TooLarge { .. } => Status::request_entity_too_large(&error.to_string()),
        EncodeError::Metadata(_) | EncodeError::NotAnObject => {
            Status::bad_request(error.to_string())
        }
        EncodeError::Serialize(_) => Status::internal(error),
    }
}

pub(super) fn write_failure(ctx: &RequestContext<'_>, error: WriteError) -> WriteFailure {
    match error {
        WriteError::AlreadyExists { .. } | WriteError::Conflict { .. } => WriteFailure::Conflict,
        // Deleted meanwhile: another attempt finds out, and creates it if the verb does.
        WriteError::NotFound { key } if key.resource() == ctx.resource => WriteFailure::Conflict,
        WriteError::NotFound { key } => WriteFailure::Rejected(Status::not_found(
            GroupResource::new("", "namespaces"),
            key.name(),
        )),
        other => WriteFailure::Rejected(store_failure(&other)),
    }
}

pub(crate) fn store_failure(error: &WriteError) -> Status {
    match error {
        WriteError::Closed => Status::service_unavailable("the server is shutting down"),
        WriteError::Storage(source) if matches!(**source, StorageError::Full { .. }) => {
            Status::insufficient_storage(format!("{source}: objects can only be deleted"))
        }
        WriteError::Storage(source) => Status::internal(source),
        other => Status::internal(other),
    }
}
