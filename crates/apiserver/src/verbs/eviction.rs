//! The polite deletion of a Pod: refused while a disruption budget does not allow it.

use http::StatusCode;
use outrigger_apimachinery::status::{Cause, Status};
use outrigger_builtin::selector::LabelSelector;
use outrigger_store::{Resource, Scope};
use serde_json::{Value, json};

use super::call::Call;
use super::delete::delete_object;
use super::{decode, present};
use crate::negotiate::{Answer, Content};
use crate::request::DeleteOptions;

pub(super) async fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let eviction = decode::foreign(call, "policy/v1", "Eviction")?;
    let name = eviction["metadata"]["name"].as_str().unwrap_or_default();
    if !name.is_empty() && name != call.name() {
        return Err(Status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let mut options = DeleteOptions::from_body(&eviction["deleteOptions"])?;
    options.dry_run |= call.query.has("dryRun");
    let key = call.key()?;
    let pod = call.state.store.get(&key);
    let pod = pod.ok_or_else(|| call.not_found(call.name()))?;
    let value = present::stored_value(&pod)?;
    let phase = value["status"]["phase"].as_str().unwrap_or_default();
    if !matches!(phase, "Succeeded" | "Failed" | "Pending") {
        check_budgets(call, &value)?;
    }
    delete_object(call.state, &call.kind, &key, &options).await?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::new(StatusCode::CREATED, Content::Value(done)))
}

fn check_budgets(call: &Call<'_>, pod: &Value) -> Result<(), Status> {
    let budgets = Resource::new("policy", "poddisruptionbudgets").map_err(Status::internal)?;
    let scope = Scope::namespace(&budgets, call.namespace()).map_err(Status::internal)?;
    let snapshot = call.state.store.snapshot();
    let labels = pod["metadata"]["labels"].as_object();
    for budget in snapshot.list(&scope) {
        let value = present::stored_value(budget)?;
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
