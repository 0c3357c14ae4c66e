//! Charges an object to the quotas of its namespace, in the transaction that writes it.

use std::sync::Arc;

use outrigger_admission::{self as admission, Attributes, Charge};
use outrigger_apimachinery::status::Status;
use outrigger_store::{
    EncodedObject, MAX_OPERATIONS, Object, Operation, Precondition, Resource, Transaction,
    WriteError,
};
use serde_json::Value;

use super::errors::{encode_failure, write_failure};
use super::{WriteFailure, WriteRequest, name_of};
use crate::server::Lookup;

/// How often the quotas are read again after a controller has changed them.
const ATTEMPTS: usize = 16;

/// Checks that an object fits into the quotas.
pub(super) fn check(
    request: &WriteRequest<'_, '_>,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<(), Status> {
    let cluster = Lookup(request.ctx.state);
    admission::charge(attributes, object, &cluster).map(drop)
}

/// Charges an object and executes the operations, of which the last one stores it. Returns the stored object.
pub(super) async fn and_write(
    request: &WriteRequest<'_, '_>,
    attributes: &Attributes<'_>,
    object: &Value,
    operations: Vec<Operation>,
) -> Result<Arc<Object>, WriteFailure> {
    let state = request.ctx.state;
    let charge = || admission::charge(attributes, object, &Lookup(state));
    if charge()?.is_empty() {
        return write(request, operations)
            .await
            .map_err(|error| write_failure(request.ctx, error));
    }
    let _guard = state.quotas.lock().await;
    let quotas = Resource::new("", "resourcequotas").map_err(Status::internal)?;
    for _ in 0..ATTEMPTS {
        let charges = charge()?;
        let most = MAX_OPERATIONS.saturating_sub(operations.len());
        if charges.len() > most {
            let count = charges.len();
            let why =
                format!("it must be charged to {count} resource quotas, and {most} are possible");
            let resource = request.ctx.group_resource();
            return Err(Status::forbidden(resource, name_of(object), why).into());
        }
        let mut all = charges
            .iter()
            .map(|charge| replace(&quotas, charge))
            .collect::<Result<Vec<_>, Status>>()?;
        all.extend(operations.iter().cloned());
        match write(request, all).await {
            Ok(stored) => return Ok(stored),
            Err(WriteError::Conflict { key, .. } | WriteError::NotFound { key })
                if key.resource() == quotas && request.ctx.resource != quotas => {}
            Err(error) => return Err(write_failure(request.ctx, error)),
        }
    }
    let resource = request.ctx.group_resource();
    Err(Status::modified(resource, name_of(object)).into())
}

fn replace(quotas: &Resource, charge: &Charge) -> Result<Operation, Status> {
    let metadata = &charge.old["metadata"];
    let text = |key: &str| metadata[key].as_str().unwrap_or_default();
    let revision = text("resourceVersion").parse().map_err(Status::internal)?;
    Ok(Operation::Replace {
        key: quotas
            .key(text("namespace"), text("name"))
            .map_err(Status::internal)?,
        encoded: EncodedObject::new(&charge.new).map_err(encode_failure)?,
        precondition: Precondition::revision(revision),
    })
}

async fn write(
    request: &WriteRequest<'_, '_>,
    operations: Vec<Operation>,
) -> Result<Arc<Object>, WriteError> {
    let key = operations.last().map(|operation| operation.key().clone());
    let store = &request.ctx.state.store;
    let mut written = store.write(Transaction::new(operations)).await?;
    match (written.results.pop(), key) {
        (Some(stored), _) => Ok(stored),
        (None, Some(key)) => Err(WriteError::NotFound { key }),
        (None, None) => Err(WriteError::Closed),
    }
}
