//! `get`.

use http::StatusCode;
use outrigger_apimachinery::status::Status;

use super::request_context::RequestContext;
use super::response;
use crate::negotiation::ApiResponse;
use crate::request::parse_revision;

pub(super) fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let wanted = ctx.query.text("resourceVersion");
    if !matches!(wanted, "" | "0") {
        let wanted = parse_revision(wanted)?;
        let current = ctx.state.store.revision();
        if wanted > current {
            return Err(Status::too_large_resource_version(wanted, current));
        }
    }
    let object = ctx.state.store.get(&ctx.key()?);
    let object = object.ok_or_else(|| ctx.not_found(ctx.name()))?;
    response::object(ctx, StatusCode::OK, &object)
}
