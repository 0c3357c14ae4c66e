//! `deletecollection`.

use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use serde_json::json;

use super::delete::{self, delete_object};
use super::request_context::RequestContext;
use super::{page, response};
use crate::negotiation::{ApiResponse, Content, List};
use crate::request::ListOptions;

pub(super) async fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let list = ListOptions::parse(&ctx.query, &ctx.kind, false)?;
    let options = delete::options(ctx)?;
    let selected = page::select(ctx, &list)?;
    let mut deleted = Vec::new();
    for object in selected.objects {
        delete::admit(ctx, object.key())?;
        // The object may have been deleted meanwhile.
        match delete_object(ctx.state, &ctx.kind, object.key(), &options).await {
            Ok(_) => deleted.push(object),
            Err(status) if status.reason == Some(Reason::NotFound) => {}
            Err(status) => return Err(status),
        }
    }
    let metadata = json!({"resourceVersion": selected.revision.to_string()});
    let list = response::list(ctx, deleted, metadata);
    let list = List::items(ctx.state, list);
    Ok(ApiResponse::new(StatusCode::OK, Content::List(list)))
}
