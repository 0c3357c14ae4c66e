//! `list`. Stored bytes are concatenated without being parsed.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::table::{self, Now};
use outrigger_store::Object;
use serde_json::{Map, Value, json};

use super::page::{self, Page};
use super::request_context::RequestContext;
use super::response;
use crate::negotiation::{ApiResponse, Content, View};
use crate::request::ListOptions;
use crate::server::Body;

pub(super) fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = ListOptions::parse(&ctx.query, &ctx.kind, false)?;
    if ctx.accept.view == View::Metadata && !ctx.accept.is_list_view {
        return Err(response::wrong_view(ctx, true));
    }
    let page = page::select(ctx, &options)?;
    let mut metadata = metadata(&page);
    if ctx.kind.custom.is_some() && ctx.accept.view == View::Object {
        // Unstructured lists always have the field.
        metadata.entry("continue").or_insert_with(|| "".into());
    }
    let content = match ctx.accept.view {
        View::Object => as_objects(ctx, page, metadata)?,
        View::Table => {
            let table = as_table(ctx, &page, metadata)?;
            Content::Value(response::with_view_version(ctx, table))
        }
        View::Metadata => {
            let list = as_metadata(ctx, &page, &metadata)?;
            Content::Value(response::with_view_version(ctx, list))
        }
    };
    Ok(ApiResponse::ok(content))
}

fn metadata(page: &Page) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert(
        "resourceVersion".to_owned(),
        page.revision.to_string().into(),
    );
    if let Some(token) = &page.continue_token {
        metadata.insert("continue".to_owned(), token.clone().into());
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), remaining.into());
    }
    metadata
}

fn as_objects(
    ctx: &RequestContext<'_>,
    page: Page,
    metadata: Map<String, Value>,
) -> Result<Content, Status> {
    let kind = &ctx.kind;
    // Items of built-in kinds have no `kind` and `apiVersion`.
    let prefix = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",",
        kind.kind,
        kind.api_version()
    );
    let is_built_in = kind.custom.is_none();
    let serves = |object: &Arc<Object>| {
        response::serves_as_stored(ctx.state, kind, object)
            && (!is_built_in || object.bytes().starts_with(prefix.as_bytes()))
    };
    let can_splice = page.objects.iter().all(serves);
    if !can_splice {
        return parsed(ctx, &page, &metadata);
    }
    let metadata = Value::Object(metadata);
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        kind.list_kind,
        kind.api_version()
    );
    let skipped = if is_built_in { prefix.len() } else { 0 };
    let body = Body::list(head.into_bytes(), page.objects, skipped, b"]}".to_vec());
    Ok(Content::Pieces(body))
}

fn parsed(
    ctx: &RequestContext<'_>,
    page: &Page,
    metadata: &Map<String, Value>,
) -> Result<Content, Status> {
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let mut value = response::served_value(ctx.state, &ctx.kind, object)?;
        if ctx.kind.custom.is_none()
            && let Value::Object(fields) = &mut value
        {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        items.push(value);
    }
    Ok(Content::Value(response::list_value(
        &ctx.kind, metadata, &items,
    )))
}

fn as_table(
    ctx: &RequestContext<'_>,
    page: &Page,
    metadata: Map<String, Value>,
) -> Result<Value, Status> {
    let (now, include) = (Now(ctx.state.now()), response::include(ctx)?);
    let mut rows = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        // The parsed objects need much more memory than their rows.
        let value = response::stored_value(object)?;
        let row = table::row(&ctx.kind, &value, include, now);
        rows.push((table::position(&ctx.kind, &value), row));
    }
    rows.sort_by_key(|(position, _)| *position);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    let table = table::table(&ctx.kind, metadata, rows);
    serde_json::to_value(table).map_err(Status::internal)
}

fn as_metadata(
    ctx: &RequestContext<'_>,
    page: &Page,
    metadata: &Map<String, Value>,
) -> Result<Value, Status> {
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let value = response::stored_value(object)?;
        items.push(table::partial_metadata(&ctx.kind, &value));
    }
    Ok(json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": items,
    }))
}
