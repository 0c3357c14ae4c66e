//! A Pod is given its node.

use http::StatusCode;
use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::strategy::assign_node;
use outrigger_store::{Resource, WriteError};
use serde_json::{Value, json};

use super::call::Call;
use super::write::{store_failure, write_value};
use super::{decode, present};
use crate::negotiate::{Answer, Content};

const PODS: GroupResource<'static> = GroupResource::new("", "pods");
const ATTEMPTS: usize = 16;

pub(super) async fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let mut binding = decode::foreign(call, "v1", "Binding")?;
    let name = call.name().to_owned();
    decode::metadata_of(&mut binding).insert("name".to_owned(), name.into());
    bind(call, &binding).await
}

/// Does what a Binding says.
pub(super) async fn bind(call: &Call<'_>, binding: &Value) -> Result<Answer, Status> {
    let name = binding["metadata"]["name"].as_str().unwrap_or_default();
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request("target.name: Required value"));
    }
    let pods = Resource::new("", "pods").map_err(Status::internal)?;
    let key = pods.key(call.namespace(), name);
    let key = key.map_err(|_| Status::not_found(PODS, name))?;
    for _ in 0..ATTEMPTS {
        let old = call.state.store.get(&key);
        let old = old.ok_or_else(|| Status::not_found(PODS, name))?;
        let mut pod = present::stored_value(&old)?;
        assign_node(&mut pod, name, node, &call.state.now_text())?;
        if call.query.has("dryRun") {
            return Ok(done());
        }
        match write_value(call.state, key.clone(), &pod, Some(&old)).await {
            Ok(_) => return Ok(done()),
            Err(WriteError::Conflict { .. }) => {}
            Err(error) => return Err(store_failure(&error)),
        }
    }
    Err(Status::modified(PODS, name))
}

fn done() -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Answer::new(StatusCode::CREATED, Content::Value(status))
}
