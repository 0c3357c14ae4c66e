//! `list`. Stored bytes are concatenated without being parsed, other formats are rendered item by item.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::table::{self, Now};
use outrigger_store::Object;
use serde_json::{Map, Value};

use super::page::{self, Page};
use super::request_context::RequestContext;
use super::response;
use crate::negotiation::{ApiResponse, Content, Format, ItemList, List, View};
use crate::request::ListOptions;
use crate::server::SplicedList;

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
    let metadata = Value::Object(metadata);
    let list = match ctx.accept.view {
        View::Object => as_objects(ctx, page.objects, metadata),
        View::Table => List::items(ctx.state, as_table(ctx, page.objects, metadata)?),
        View::Metadata => List::items(ctx.state, as_metadata(ctx, page.objects, metadata)),
    };
    Ok(ApiResponse::ok(Content::List(list)))
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

fn as_objects(ctx: &RequestContext<'_>, objects: Vec<Arc<Object>>, metadata: Value) -> List {
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
    let is_compact = ctx.accept.format == Format::Json && !ctx.accept.pretty;
    if !is_compact || !objects.iter().all(serves) {
        return List::items(ctx.state, response::list(ctx, objects, metadata));
    }
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        kind.list_kind,
        kind.api_version()
    );
    let skipped = if is_built_in { prefix.len() } else { 0 };
    let list = SplicedList::new(head.into_bytes(), objects, skipped, b"]}".to_vec());
    List::stored(ctx.state, list)
}

fn as_table(
    ctx: &RequestContext<'_>,
    mut objects: Vec<Arc<Object>>,
    metadata: Value,
) -> Result<ItemList, Status> {
    if let Some(position) = table::position(&ctx.kind) {
        let position = |object: &Arc<Object>| position(&response::stored_value(object).ok()?);
        objects.sort_by_cached_key(position);
    }
    let (now, include) = (Now(ctx.state.now()), response::include(ctx)?);
    let (state, kind) = (Arc::clone(ctx.state), Arc::clone(&ctx.kind));
    let version = ctx.accept.view_version();
    let columns = serde_json::to_value(table::columns(&kind)).map_err(Status::internal)?;
    let row = move |object: &Arc<Object>| {
        let shown = response::shown_value(&state, &kind, object)?;
        let row = table::row(&kind, &shown, include, now);
        let mut row = serde_json::to_value(row).map_err(Status::internal)?;
        response::set_item_version(&mut row["object"], version);
        Ok(row)
    };
    Ok(ItemList {
        fields: vec![
            ("kind", "Table".into()),
            ("apiVersion", version.into()),
            ("metadata", metadata),
            ("columnDefinitions", columns),
        ],
        key: "rows",
        sources: objects,
        item: Box::new(row),
    })
}

fn as_metadata(ctx: &RequestContext<'_>, objects: Vec<Arc<Object>>, metadata: Value) -> ItemList {
    let (kind, version) = (Arc::clone(&ctx.kind), ctx.accept.view_version());
    let item = move |object: &Arc<Object>| {
        let stored = response::stored_value(object)?;
        let mut item = table::partial_metadata(&kind, &stored);
        response::set_item_version(&mut item, version);
        Ok(item)
    };
    ItemList {
        fields: vec![
            ("kind", "PartialObjectMetadataList".into()),
            ("apiVersion", version.into()),
            ("metadata", metadata),
        ],
        key: "items",
        sources: objects,
        item: Box::new(item),
    }
}
