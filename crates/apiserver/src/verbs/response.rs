//! Responses with objects: converted to the requested version, whole, as a table or only their metadata.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use outrigger_builtin::kinds::{Kind, convert};
use outrigger_builtin::table::{self, Include, Now};
use outrigger_store::Object;
use outrigger_structural::{depth, schema};
use serde_json::{Map, Value};

use super::request_context::RequestContext;
use crate::controllers::custom_resource_definitions;
use crate::negotiation::{ApiResponse, Content, ItemList, View};
use crate::server::State;

/// An object as it is stored. Of an object that an older version stored, what is nested too deep is null.
pub(super) fn stored_value(object: &Object) -> Result<Value, Status> {
    let stored = depth::parse_stored(object.bytes()).map_err(Status::internal)?;
    Ok(stored.value)
}

/// Rejects a patch of an object that is nested too deep, of which a part would be lost.
pub(super) fn check_patchable(kind: &Kind, object: &Object) -> Result<(), Status> {
    let stored = depth::parse_stored(object.bytes()).map_err(Status::internal)?;
    if !stored.is_truncated {
        return Ok(());
    }
    let (kind, name) = (&kind.kind, object.key().name());
    Err(Status::unprocessable(format!(
        "{kind} \"{name}\" {}; it can only be replaced or deleted",
        depth::EXCEEDED
    )))
}

/// An object converted to the version of a kind.
pub(super) fn served_value(state: &State, kind: &Kind, object: &Object) -> Result<Value, Status> {
    let mut value = stored_value(object)?;
    convert::from_storage(kind, &mut value);
    if kind.custom.is_some() && !serves_as_stored(state, kind, object) {
        // The current schema also applies to objects written before it.
        let schema = state.schemas.get(&state.registry.snapshot(), kind, "");
        schema::prune_unknown(&mut value, schema.schema.root());
        schema::apply_defaults(&mut value, schema.schema.root());
    }
    Ok(value)
}

/// An object from which tables are made: custom resources as they are served, built-in kinds as they are stored.
pub(super) fn shown_value(state: &State, kind: &Kind, object: &Object) -> Result<Value, Status> {
    match kind.custom {
        Some(_) => served_value(state, kind, object),
        None => stored_value(object),
    }
}

/// The JSON of an object in the version of a kind, without parsing if possible.
pub(super) fn served_bytes(state: &State, kind: &Kind, object: &Object) -> Result<Bytes, Status> {
    if serves_as_stored(state, kind, object) {
        return Ok(object.bytes().clone());
    }
    let value = served_value(state, kind, object)?;
    let bytes = serde_json::to_vec(&value).map_err(Status::internal)?;
    Ok(bytes.into())
}

/// Whether an object can be served without changes: it is stored in the served version, and its definition has not
/// changed since.
pub(super) fn serves_as_stored(state: &State, kind: &Kind, object: &Object) -> bool {
    if convert::needed(kind) {
        return false;
    }
    let Some(custom) = &kind.custom else {
        return true;
    };
    let definition = custom_resource_definitions::revision(state, &custom.definition);
    definition.is_none_or(|revision| revision < object.revision())
}

/// A response with a stored object.
pub(super) fn object(
    ctx: &RequestContext<'_>,
    code: StatusCode,
    object: &Arc<Object>,
) -> Result<ApiResponse, Status> {
    let content = match ctx.accept.view {
        View::Object => Content::Json(served_bytes(ctx.state, &ctx.kind, object)?),
        View::Table | View::Metadata => {
            let value = shown_value(ctx.state, &ctx.kind, object)?;
            Content::Value(view(ctx, &value)?)
        }
    };
    Ok(ApiResponse::new(code, content))
}

/// A response with an object that is not stored, in its served form.
pub(super) fn value(
    ctx: &RequestContext<'_>,
    code: StatusCode,
    value: Value,
) -> Result<ApiResponse, Status> {
    let content = match ctx.accept.view {
        View::Object => Content::Value(value),
        View::Table | View::Metadata => {
            let mut shown = value;
            if ctx.kind.custom.is_none() {
                convert::to_storage(&ctx.kind, &mut shown);
            }
            Content::Value(view(ctx, &shown)?)
        }
    };
    Ok(ApiResponse::new(code, content))
}

/// The table or the metadata of one object, see [`shown_value`].
fn view(ctx: &RequestContext<'_>, shown: &Value) -> Result<Value, Status> {
    if ctx.accept.view == View::Metadata {
        if ctx.accept.is_list_view {
            return Err(wrong_view(ctx, false));
        }
        return Ok(with_view_version(
            ctx,
            table::partial_metadata(&ctx.kind, shown),
        ));
    }
    let mut metadata = Map::new();
    if let Some(version) = shown["metadata"].get("resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
    let now = Now(ctx.state.now());
    let row = table::row(&ctx.kind, shown, include(ctx)?, now);
    let table = table::table(&ctx.kind, metadata, vec![row]);
    let table = serde_json::to_value(table).map_err(Status::internal)?;
    Ok(with_view_version(ctx, table))
}

/// A table or metadata in the version that the client requested.
pub(super) fn with_view_version(ctx: &RequestContext<'_>, mut view: Value) -> Value {
    set_view_version(&mut view, ctx.accept.view_version());
    view
}

/// Sets the version of a table or of metadata, and of the metadata in the rows of a table.
pub(super) fn set_view_version(view: &mut Value, version: &str) {
    view["apiVersion"] = version.into();
    let rows = view.get_mut("rows").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        set_item_version(&mut row["object"], version);
    }
}

/// Sets the version of metadata; other objects have their own.
pub(super) fn set_item_version(object: &mut Value, version: &str) {
    if object["kind"] == "PartialObjectMetadata" {
        object["apiVersion"] = version.into();
    }
}

/// The error for `PartialObjectMetadata` of a list, or `PartialObjectMetadataList` of an object.
pub(super) fn wrong_view(ctx: &RequestContext<'_>, is_list: bool) -> Status {
    let kind = &ctx.kind;
    let group = match kind.group.as_str() {
        _ if kind.custom.is_some() => "unstructured",
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    };
    let name = match (kind.custom.is_some(), is_list) {
        (true, true) => "UnstructuredList",
        (true, false) => "Unstructured",
        (false, true) => &kind.list_kind,
        (false, false) => &kind.kind,
    };
    let message = if is_list {
        format!(
            "you requested PartialObjectMetadata, but the requested object is a list (*{group}.{name})"
        )
    } else {
        format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list (*{group}.{name})"
        )
    };
    Status::new(Reason::NotAcceptable, message)
}

/// `includeObject` of a table.
pub(super) fn include(ctx: &RequestContext<'_>) -> Result<Include, Status> {
    let text = ctx.query.text("includeObject");
    Include::parse(text).ok_or_else(|| {
        let quoted = outrigger_apimachinery::status::field::quote(text);
        let detail = "must be 'Metadata', 'Object', 'None', or empty";
        Status::bad_request(format!("Unable to convert to Table as requested: includeObject: Invalid value: {quoted}: {detail}"))
    })
}

/// The list of these objects in the version of the request.
pub(super) fn list(
    ctx: &RequestContext<'_>,
    objects: Vec<Arc<Object>>,
    metadata: Value,
) -> ItemList {
    let (state, kind) = (Arc::clone(ctx.state), Arc::clone(&ctx.kind));
    let fields = vec![
        ("kind", kind.list_kind.clone().into()),
        ("apiVersion", kind.api_version().into()),
        ("metadata", metadata),
    ];
    let item = move |object: &Arc<Object>| {
        let mut item = served_value(&state, &kind, object)?;
        // Items of built-in kinds have no `kind` and `apiVersion`.
        if kind.custom.is_none()
            && let Value::Object(fields) = &mut item
        {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        Ok(item)
    };
    ItemList {
        fields,
        key: "items",
        sources: objects,
        item: Box::new(item),
    }
}
