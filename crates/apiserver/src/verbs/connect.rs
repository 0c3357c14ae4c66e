//! What needs a running container: logs are told to be absent, connections are refused.

use outrigger_apimachinery::status::{Reason, Status};

use super::call::Call;
use crate::negotiate::{Answer, text};

/// The log of a Pod. Nothing runs here, so there is one line that says so.
pub(super) fn log(call: &Call<'_>) -> Result<Answer, Status> {
    let Some(pod) = call.state.store.get(&call.key()?) else {
        return Err(call.not_found(call.name()));
    };
    let pod = serde_json::from_slice(pod.bytes()).map_err(Status::internal)?;
    let simulation = call.state.simulation();
    let line = simulation.and_then(|nodes| nodes.pod_log(&pod, call.query.text("container")));
    let line =
        line.unwrap_or_else(|| "This API server runs no containers: there is no log.\n".to_owned());
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
