//! Subresources that need a running container: logs say that there are none, connections are rejected.

use outrigger_apimachinery::status::{Reason, Status};

use super::request_context::RequestContext;
use crate::negotiation::{ApiResponse, text};

/// The log of a Pod: one line which says that no container runs.
pub(super) fn log(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let Some(pod) = ctx.state.store.get(&ctx.key()?) else {
        return Err(ctx.not_found(ctx.name()));
    };
    let pod = serde_json::from_slice(pod.bytes()).map_err(Status::internal)?;
    let simulation = ctx.state.simulation();
    let line = simulation.and_then(|nodes| nodes.pod_log(&pod, ctx.query.text("container")));
    let line =
        line.unwrap_or_else(|| "This API server runs no containers: there is no log.\n".to_owned());
    Ok(text(http::StatusCode::OK, line))
}

/// The error for subresources that this server does not support.
pub(super) fn not_supported(ctx: &RequestContext<'_>) -> Status {
    let (resource, subresource) = (&ctx.info.resource, &ctx.info.subresource);
    let message = format!(
        "{resource}/{subresource} is not supported by the embedded API server, which runs no containers and no network"
    );
    Status::new(Reason::MethodNotAllowed, message)
}
