//! Why a write is refused by the store.

use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_store::{EncodeError, WriteError};

use super::Failure;
use crate::verbs::Call;

pub(super) fn encode_failure(error: EncodeError) -> Status {
    match error {
        EncodeError::TooLarge { .. } => Status::request_entity_too_large(&error.to_string()),
        EncodeError::Metadata(_) | EncodeError::NotAnObject => {
            Status::bad_request(error.to_string())
        }
        EncodeError::Serialize(_) => Status::internal(error),
    }
}

pub(super) fn write_failure(call: &Call<'_>, error: WriteError) -> Failure {
    match error {
        WriteError::AlreadyExists { .. } | WriteError::Conflict { .. } => Failure::Raced,
        WriteError::NotFound { key } if key.resource() == call.resource => {
            Failure::Refused(call.not_found(key.name()))
        }
        WriteError::NotFound { key } => Failure::Refused(Status::not_found(
            GroupResource::new("", "namespaces"),
            key.name(),
        )),
        other => Failure::Refused(store_failure(&other)),
    }
}

/// A store that does not take writes.
pub(crate) fn store_failure(error: &WriteError) -> Status {
    match error {
        WriteError::Closed => Status::service_unavailable("the server is shutting down"),
        WriteError::Storage(source) => Status::internal(source),
        other => Status::internal(other),
    }
}
