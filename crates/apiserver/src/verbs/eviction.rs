//! The `eviction` subresource of Pods: a deletion that respects disruption budgets.

use http::StatusCode;
use outrigger_apimachinery::status::{Cause, Status};
use outrigger_builtin::selector::LabelSelector;
use outrigger_store::{Resource, Scope};
use serde_json::{Value, json};

use super::delete::delete_object;
use super::request_context::RequestContext;
use super::{decode, response};
use crate::negotiation::{ApiResponse, Content};
use crate::request::{DeleteOptions, WriteOptions};

pub(super) async fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = WriteOptions::parse(&ctx.query, "CreateOptions", false)?;
    let eviction = decode::object_as(ctx, "policy/v1", "Eviction", options.validation)?;
    let name = eviction["metadata"]["name"].as_str().unwrap_or_default();
    if name != ctx.name() {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let mut options = DeleteOptions::from_body(&eviction["deleteOptions"])?;
    options.dry_run |= ctx.query.has("dryRun");
    let key = ctx.key()?;
    let pod = ctx.state.store.get(&key);
    let pod = pod.ok_or_else(|| ctx.not_found(ctx.name()))?;
    let value = response::stored_value(&pod)?;
    let phase = value["status"]["phase"].as_str().unwrap_or_default();
    if !matches!(phase, "Succeeded" | "Failed" | "Pending") {
        check_budgets(ctx, &value)?;
    }
    delete_object(ctx.state, &ctx.kind, &key, &options).await?;
    let created = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(ApiResponse::new(
        StatusCode::CREATED,
        Content::Value(created),
    ))
}

fn check_budgets(ctx: &RequestContext<'_>, pod: &Value) -> Result<(), Status> {
    let budgets = Resource::new("policy", "poddisruptionbudgets").map_err(Status::internal)?;
    let scope = Scope::namespace(&budgets, ctx.namespace()).map_err(Status::internal)?;
    let snapshot = ctx.state.store.snapshot();
    let labels = pod["metadata"]["labels"].as_object();
    for budget in snapshot.list(&scope) {
        let value = response::stored_value(budget)?;
        let selects = LabelSelector::of_object(&value["spec"]["selector"])
            .is_some_and(|selector| selector.matches(labels));
        let allowed = value["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        if selects && allowed <= 0 {
            let name = budget.key().name();
            let needed = value["status"]["desiredHealthy"].as_i64().unwrap_or(0);
            let has = value["status"]["currentHealthy"].as_i64().unwrap_or(0);
            let mut status = Status::too_many_requests(
                "Cannot evict pod as it would violate the pod's disruption budget.",
                0,
            );
            if let Some(details) = &mut status.details {
                details.causes.push(Cause {
                    reason: "DisruptionBudget".to_owned(),
                    message: format!(
                        "The disruption budget {name} needs {needed} healthy pods and has {has} currently"
                    ),
                    field: String::new(),
                });
            }
            return Err(status);
        }
    }
    Ok(())
}
