//! Objects that require the server to call an extension: webhooks and aggregated APIs.
//!
//! The server calls none and rejects such objects, so that nobody relies on a check that never runs. If workloads are
//! simulated, it stores them with a warning, so that charts install.

use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::request_context::RequestContext;

/// Rejects an object that requires an extension, or warns.
pub(super) fn check(ctx: &mut RequestContext<'_>, object: &Value) -> Result<(), Status> {
    let Some(extension) = ctx.kind.strategy.required_extension(object) else {
        return Ok(());
    };
    if ctx.state.simulation().is_some() {
        ctx.warn(format!(
            "{extension} are not called; the object is only stored"
        ));
        return Ok(());
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let reason =
        format!("{extension} are not supported by this server, so the object would have no effect");
    Err(Status::forbidden(ctx.group_resource(), name, reason))
}
