//! The handlers of the API verbs, generic over all kinds.

mod binding;
mod connect;
mod create;
mod decode;
mod delete;
mod delete_collection;
mod eviction;
mod expense;
mod extensions;
mod get;
mod go_format;
mod list;
mod names;
mod page;
mod patch;
mod request_context;
mod response;
mod route;
mod scale;
mod token;
mod update;
mod watch;
mod write;

pub(crate) use delete::{DeleteOutcome, delete_object};
pub(crate) use expense::is_expensive;
pub(crate) use names::{RandomError, random_suffix, random_uid};
pub(crate) use request_context::RequestContext;
pub(crate) use route::route;
pub(crate) use write::{store_failure, write_value};

use outrigger_apimachinery::status::Status;

use crate::negotiation::ApiResponse;

/// Handles a request for a resource.
pub(crate) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    if let Some(deprecation) = ctx.kind.deprecation.clone() {
        ctx.warn(deprecation);
    }
    let subresource = ctx.info.subresource.to_string();
    match (subresource.as_str(), ctx.verb) {
        ("" | "status" | "approval" | "ephemeralcontainers" | "resize", "get") => get::run(ctx),
        ("", "list") => list::run(ctx),
        ("", "watch") => watch::run(ctx),
        ("", "create") => create::run(ctx).await,
        ("", "delete") => delete::run(ctx).await,
        ("", "deletecollection") => delete_collection::run(ctx).await,
        ("scale", _) => scale::run(ctx).await,
        ("token", _) => token::run(ctx),
        ("eviction", _) => eviction::run(ctx).await,
        ("binding", _) => binding::run(ctx).await,
        ("log", _) => connect::log(ctx),
        ("" | "status" | "finalize" | "approval" | "ephemeralcontainers", "update") => {
            update::run(ctx).await
        }
        ("" | "status" | "finalize" | "approval" | "ephemeralcontainers", "patch") => {
            patch::run(ctx).await
        }
        _ => Err(connect::not_supported(ctx)),
    }
}
