//! Stored objects as clients see them: whole, as a table, or only their metadata; in the version that was asked for.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::call::Call;
use crate::kinds::{Kind, convert};
use crate::negotiate::{Answer, Content, View};
use crate::status::Status;
use crate::store::Object;
use crate::table::{self, Include, Now};

/// An object as it is stored.
pub(super) fn stored_value(object: &Object) -> Result<Value, Status> {
    serde_json::from_slice(object.bytes()).map_err(Status::internal)
}

/// An object in the version of a kind.
pub(super) fn served_value(kind: &Kind, object: &Object) -> Result<Value, Status> {
    let mut value = stored_value(object)?;
    convert::from_storage(kind, &mut value);
    Ok(value)
}

/// The bytes of an object in the version of a kind; those of the store if they serve.
pub(super) fn served_bytes(kind: &Kind, object: &Object) -> Result<Bytes, Status> {
    if !convert::needed(kind) {
        return Ok(object.bytes().clone());
    }
    let value = served_value(kind, object)?;
    let bytes = serde_json::to_vec(&value).map_err(Status::internal)?;
    Ok(bytes.into())
}

/// The answer that holds one stored object.
pub(super) fn object(
    call: &Call<'_>,
    code: StatusCode,
    object: &Arc<Object>,
) -> Result<Answer, Status> {
    let content = match call.accept.view {
        View::Object => Content::Json(served_bytes(&call.kind, object)?),
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

/// What rows of tables carry.
pub(super) fn include(call: &Call<'_>) -> Result<Include, Status> {
    let text = call.query.text("includeObject");
    Include::parse(text).ok_or_else(|| {
        let quoted = crate::status::field::quote(text);
        let detail = "must be 'Metadata', 'Object', 'None', or empty";
        Status::bad_request(format!("includeObject: Invalid value: {quoted}: {detail}"))
    })
}

/// A list of values, none of which is parsed from the store again.
pub(super) fn list_value(kind: &Kind, metadata: Map<String, Value>, items: Vec<Value>) -> Value {
    json!({
        "kind": kind.list_kind,
        "apiVersion": kind.api_version(),
        "metadata": metadata,
        "items": items,
    })
}
