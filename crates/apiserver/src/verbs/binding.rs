//! The `binding` subresource of Pods, and Bindings.

use http::StatusCode;
use outrigger_apimachinery::GroupResource;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::strategy::assign_node;
use outrigger_store::{Resource, WriteError};
use serde_json::{Value, json};

use super::request_context::RequestContext;
use super::write::{store_failure, write_value};
use super::{decode, response};
use crate::negotiation::{ApiResponse, Content};
use crate::request::WriteOptions;

const PODS: GroupResource<'static> = GroupResource::new("", "pods");
const ATTEMPTS: usize = 16;

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = WriteOptions::parse(&ctx.query, "CreateOptions", false)?;
    let binding = decode::object_as(ctx, "v1", "Binding", options.validation)?;
    if binding["metadata"]["name"] != ctx.name() {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    bind(ctx, &binding).await
}

/// Assigns a Pod to the node of a Binding.
pub(super) async fn bind(ctx: &RequestContext<'_>, binding: &Value) -> Result<ApiResponse, Status> {
    let name = binding["metadata"]["name"].as_str().unwrap_or_default();
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request("target.name: Required value"));
    }
    let pods = Resource::new("", "pods").map_err(Status::internal)?;
    let key = pods.key(ctx.namespace(), name);
    let key = key.map_err(|_| Status::not_found(PODS, name))?;
    for _ in 0..ATTEMPTS {
        let old = ctx.state.store.get(&key);
        let old = old.ok_or_else(|| Status::not_found(PODS, name))?;
        let mut pod = response::stored_value(&old)?;
        assign_node(&mut pod, name, node, &ctx.state.now_text())?;
        if ctx.query.has("dryRun") {
            return Ok(created());
        }
        match write_value(ctx.state, key.clone(), &pod, Some(&old)).await {
            Ok(_) => return Ok(created()),
            // Changed or deleted meanwhile.
            Err(WriteError::Conflict { .. } | WriteError::NotFound { .. }) => {}
            Err(error) => return Err(store_failure(&error)),
        }
    }
    Err(Status::modified(PODS, name))
}

fn created() -> ApiResponse {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    ApiResponse::new(StatusCode::CREATED, Content::Value(status))
}
