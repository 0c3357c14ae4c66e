//! Many objects at once. Stored bytes are put together without being parsed.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_builtin::table::{self, Now};
use outrigger_store::Object;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::page::{self, Page};
use super::present;
use crate::negotiate::{Answer, Content, View};
use crate::request::ListOptions;
use crate::server::Body;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let options = ListOptions::parse(&call.query, &call.kind, false)?;
    if call.accept.view == View::Metadata && !call.accept.is_list_view {
        return Err(present::wrong_view(call, true));
    }
    let page = page::select(call, &options)?;
    let mut metadata = metadata(&page);
    if call.kind.custom.is_some() && call.accept.view == View::Object {
        // Objects without a Go type show it also when it is empty.
        metadata.entry("continue").or_insert_with(|| "".into());
    }
    let content = match call.accept.view {
        View::Object => whole(call, page, metadata)?,
        View::Table => Content::Value(as_table(call, &page, metadata)?),
        View::Metadata => Content::Value(as_metadata(call, &page, &metadata)?),
    };
    Ok(Answer::ok(content))
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

fn whole(call: &Call<'_>, page: Page, metadata: Map<String, Value>) -> Result<Content, Status> {
    let kind = &call.kind;
    // Items of built-in kinds do not say what they are: the list does.
    let prefix = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",",
        kind.kind,
        kind.api_version()
    );
    let is_plain = kind.custom.is_none();
    let serves = |object: &Arc<Object>| {
        present::serves_as_stored(call.state, kind, object)
            && (!is_plain || object.bytes().starts_with(prefix.as_bytes()))
    };
    let can_splice = page.objects.iter().all(serves);
    if !can_splice {
        return parsed(call, &page, &metadata);
    }
    let metadata = Value::Object(metadata);
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        kind.list_kind,
        kind.api_version()
    );
    let skipped = if is_plain { prefix.len() } else { 0 };
    let body = Body::list(head.into_bytes(), page.objects, skipped, b"]}".to_vec());
    Ok(Content::Pieces(body))
}

fn parsed(call: &Call<'_>, page: &Page, metadata: &Map<String, Value>) -> Result<Content, Status> {
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let mut value = present::served_value(call.state, &call.kind, object)?;
        if call.kind.custom.is_none()
            && let Value::Object(fields) = &mut value
        {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        items.push(value);
    }
    Ok(Content::Value(present::list_value(
        &call.kind, metadata, &items,
    )))
}

fn as_table(call: &Call<'_>, page: &Page, metadata: Map<String, Value>) -> Result<Value, Status> {
    let values: Result<Vec<Value>, Status> = page
        .objects
        .iter()
        .map(|object| present::stored_value(object))
        .collect();
    let values = values?;
    let now = Now(call.state.now());
    let table = table::table(&call.kind, metadata, &values, present::include(call)?, now);
    serde_json::to_value(table).map_err(Status::internal)
}

fn as_metadata(
    call: &Call<'_>,
    page: &Page,
    metadata: &Map<String, Value>,
) -> Result<Value, Status> {
    let mut items = Vec::with_capacity(page.objects.len());
    for object in &page.objects {
        let value = present::stored_value(object)?;
        items.push(table::partial_metadata(&call.kind, &value));
    }
    Ok(json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": items,
    }))
}
