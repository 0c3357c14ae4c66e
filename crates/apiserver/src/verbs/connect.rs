//! What needs a running container: logs are told to be absent, connections are refused.

use super::call::Call;
use crate::negotiate::{Answer, text};
use crate::status::{Reason, Status};

/// The log of a Pod. Nothing runs here, so there is one line that says so.
pub(super) fn log(call: &Call<'_>) -> Result<Answer, Status> {
    if call.state.store.get(&call.key()?).is_none() {
        return Err(call.not_found(call.name()));
    }
    let line = "This API server runs no containers: there is no log.\n";
    Ok(text(http::StatusCode::OK, line))
}

/// Whatever this server does not do.
pub(super) fn refused(call: &Call<'_>) -> Status {
    let (resource, subresource) = (&call.place.resource, &call.place.subresource);
    let message = format!(
        "{resource}/{subresource} is not supported by the embedded API server, which runs no containers and no network"
    );
    Status::new(Reason::MethodNotAllowed, message)
}
