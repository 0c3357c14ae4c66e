//! The end of many objects: those that a selector names.

use http::StatusCode;
use outrigger_apimachinery::status::{Reason, Status};
use serde_json::{Map, Value};

use super::call::Call;
use super::delete::{self, delete_object};
use super::{page, present};
use crate::negotiate::{Answer, Content, View};
use crate::request::ListOptions;

pub(super) async fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let list = ListOptions::parse(&call.query, &call.kind, false)?;
    let options = delete::options(call)?;
    let selected = page::select(call, &list)?;
    let mut items: Vec<Value> = Vec::new();
    for object in &selected.objects {
        // Somebody else may have been faster.
        match delete_object(call.state, &call.kind, object.key(), &options).await {
            Ok(_) => items.push(present::served_value(call.state, &call.kind, object)?),
            Err(status) if status.reason == Some(Reason::NotFound) => {}
            Err(status) => return Err(status),
        }
    }
    if call.kind.custom.is_none() {
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
        call.accept.view,
        View::Object | View::Table | View::Metadata
    ));
    let value = present::list_value(&call.kind, &metadata, &items);
    Ok(Answer::new(StatusCode::OK, Content::Value(value)))
}
