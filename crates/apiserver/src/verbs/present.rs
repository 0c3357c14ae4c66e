//! Stored objects as clients see them: whole, as a table, or only their metadata; in the version that was asked for.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use outrigger_builtin::kinds::{Kind, convert};
use outrigger_builtin::table::{self, Include, Now};
use outrigger_store::Object;
use outrigger_structural::schema;
use serde_json::{Map, Value, json};

use super::call::Call;
use crate::lifecycle::definitions;
use crate::negotiate::{Answer, Content, View};
use crate::server::State;

/// An object as it is stored.
pub(super) fn stored_value(object: &Object) -> Result<Value, Status> {
    serde_json::from_slice(object.bytes()).map_err(Status::internal)
}

/// An object in the version of a kind.
pub(super) fn served_value(state: &State, kind: &Kind, object: &Object) -> Result<Value, Status> {
    let mut value = stored_value(object)?;
    convert::from_storage(kind, &mut value);
    if kind.custom.is_some() && !serves_as_stored(state, kind, object) {
        // What the schema says now holds for what was written before, too.
        let shape = state.shapes.get(&state.registry.snapshot(), kind, "");
        schema::prune_unknown(&mut value, shape.schema.root());
        schema::apply_defaults(&mut value, shape.schema.root());
    }
    Ok(value)
}

/// The bytes of an object in the version of a kind; those of the store if they serve.
pub(super) fn served_bytes(state: &State, kind: &Kind, object: &Object) -> Result<Bytes, Status> {
    if serves_as_stored(state, kind, object) {
        return Ok(object.bytes().clone());
    }
    let value = served_value(state, kind, object)?;
    let bytes = serde_json::to_vec(&value).map_err(Status::internal)?;
    Ok(bytes.into())
}

/// Whether an object needs no change: it is stored in the version that is served, and its definition, if it has
/// one, is not younger than it.
pub(super) fn serves_as_stored(state: &State, kind: &Kind, object: &Object) -> bool {
    if convert::needed(kind) {
        return false;
    }
    let Some(custom) = &kind.custom else {
        return true;
    };
    let definition = definitions::revision(state, &custom.definition);
    definition.is_none_or(|revision| revision < object.revision())
}

/// The answer that holds one stored object.
pub(super) fn object(
    call: &Call<'_>,
    code: StatusCode,
    object: &Arc<Object>,
) -> Result<Answer, Status> {
    let content = match call.accept.view {
        View::Object => Content::Json(served_bytes(call.state, &call.kind, object)?),
        View::Table | View::Metadata => {
            let value = stored_value(object)?;
            Content::Value(view(call, &value)?)
        }
    };
    Ok(Answer::new(code, content))
}

/// The answer that holds an object which is not stored, in its served form.
pub(super) fn value(call: &Call<'_>, code: StatusCode, value: Value) -> Result<Answer, Status> {
    let content = match call.accept.view {
        View::Object => Content::Value(value),
        View::Table | View::Metadata => {
            let mut stored = value;
            convert::to_storage(&call.kind, &mut stored);
            Content::Value(view(call, &stored)?)
        }
    };
    Ok(Answer::new(code, content))
}

/// The table or the metadata of one object in its stored form.
fn view(call: &Call<'_>, stored: &Value) -> Result<Value, Status> {
    if call.accept.view == View::Metadata {
        if call.accept.is_list_view {
            return Err(wrong_view(call, false));
        }
        return Ok(table::partial_metadata(&call.kind, stored));
    }
    let mut metadata = Map::new();
    if let Some(version) = stored["metadata"].get("resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
    let now = Now(call.state.now());
    let table = table::table(&call.kind, metadata, [stored], include(call)?, now);
    serde_json::to_value(table).map_err(Status::internal)
}

/// The metadata of one object was asked for where there are many, or the other way round.
pub(super) fn wrong_view(call: &Call<'_>, is_list: bool) -> Status {
    let kind = &call.kind;
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

/// What rows of tables carry.
pub(super) fn include(call: &Call<'_>) -> Result<Include, Status> {
    let text = call.query.text("includeObject");
    Include::parse(text).ok_or_else(|| {
        let quoted = outrigger_apimachinery::status::field::quote(text);
        let detail = "must be 'Metadata', 'Object', 'None', or empty";
        Status::bad_request(format!("Unable to convert to Table as requested: includeObject: Invalid value: {quoted}: {detail}"))
    })
}

/// A list of values, none of which is parsed from the store again.
pub(super) fn list_value(kind: &Kind, metadata: &Map<String, Value>, items: &[Value]) -> Value {
    json!({
        "kind": kind.list_kind,
        "apiVersion": kind.api_version(),
        "metadata": metadata,
        "items": items,
    })
}
