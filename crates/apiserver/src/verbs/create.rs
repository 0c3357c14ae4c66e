//! `create`.

use http::StatusCode;
use outrigger_apimachinery::status::Status;

use super::request_context::RequestContext;
use super::write::{Outcome, WriteRequest, respond, wipe_system_fields};
use super::{decode, response};
use crate::controllers;
use crate::negotiation::{ApiResponse, NotAcceptable, View};
use crate::request::WriteOptions;

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = WriteOptions::parse(&ctx.query, "CreateOptions", false)?;
    if !ctx.kind.is_stored() {
        return review(ctx, options).await;
    }
    let schema = ctx.state.schemas.get(&ctx.kinds, &ctx.kind, "");
    let validation = options.validation;
    let mut object = decode::object(ctx, &schema.schema, validation)?;
    wipe_system_fields(&mut object);
    let mut request = WriteRequest::new(ctx, options);
    request.ensure_namespace(&mut object)?;
    let object = request
        .schema
        .manager
        .update(None, object, request.writer());
    let outcome = request.create(object).await?;
    if let Outcome::Stored(stored) = &outcome {
        controllers::after_create(ctx.state, &ctx.kind, stored).await;
    }
    respond(ctx, StatusCode::CREATED, outcome)
}

/// Reviews and bindings, which are not stored.
async fn review(
    ctx: &mut RequestContext<'_>,
    options: WriteOptions,
) -> Result<ApiResponse, Status> {
    let kind = ctx.kind.clone();
    if ctx.accept.view != View::Object {
        return Err(NotAcceptable::custom());
    }
    let object = decode::object_as(ctx, &kind.api_version(), &kind.kind, options.validation)?;
    if kind.plural == "bindings" {
        return super::binding::bind(ctx, &object).await;
    }
    let mut object = object;
    let object = {
        let request = WriteRequest::new(ctx, options);
        if kind.namespaced {
            request.ensure_namespace(&mut object)?;
        }
        request
            .schema
            .manager
            .update(None, object, request.writer())
    };
    match ctx.state.auth.review(&kind.plural, ctx.user, object) {
        Some(result) => response::value(ctx, StatusCode::CREATED, result?),
        None => Err(Status::method_not_allowed()),
    }
}
