//! `deletecollection`.

use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use serde_json::{Map, Value};

use super::delete::{self, delete_object};
use super::request_context::RequestContext;
use super::{page, response};
use crate::negotiation::{ApiResponse, Content, View};
use crate::request::ListOptions;

pub(super) async fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let list = ListOptions::parse(&ctx.query, &ctx.kind, false)?;
    let options = delete::options(ctx)?;
    let selected = page::select(ctx, &list)?;
    let mut items: Vec<Value> = Vec::new();
    for object in &selected.objects {
        delete::admit(ctx, object.key())?;
        // The object may have been deleted meanwhile.
        match delete_object(ctx.state, &ctx.kind, object.key(), &options).await {
            Ok(_) => items.push(response::served_value(ctx.state, &ctx.kind, object)?),
            Err(status) if status.reason == Some(Reason::NotFound) => {}
            Err(status) => return Err(status),
        }
    }
    if ctx.kind.custom.is_none() {
        for item in &mut items {
            if let Value::Object(fields) = item {
                fields.remove("apiVersion");
                fields.remove("kind");
            }
        }
    }
    let mut metadata = Map::new();
    metadata.insert(
        "resourceVersion".to_owned(),
        selected.revision.to_string().into(),
    );
    debug_assert!(matches!(
        ctx.accept.view,
        View::Object | View::Table | View::Metadata
    ));
    let value = response::list_value(&ctx.kind, &metadata, &items);
    Ok(ApiResponse::new(StatusCode::OK, Content::Value(value)))
}
