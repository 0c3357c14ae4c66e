//! Objects that want this server to call somebody: webhooks and aggregated APIs.
//!
//! It calls nobody, so it does not keep them: nobody shall believe in a check that is never made. Where workloads are
//! simulated there is nobody to call, and whole charts shall install: there they are kept, and a warning says so.

use outrigger_apimachinery::status::Status;
use serde_json::Value;

use super::call::Call;

/// Refuses what needs calls, or warns.
pub(super) fn check(call: &mut Call<'_>, object: &Value) -> Result<(), Status> {
    let Some(wanted) = call.kind.strategy.required_extension(object) else {
        return Ok(());
    };
    if call.state.simulation().is_some() {
        call.warn(format!(
            "this server calls no {wanted}: it only keeps the object"
        ));
        return Ok(());
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let why = format!("this server calls no {wanted}, so it does not keep what asks for them");
    Err(Status::forbidden(call.group_resource(), name, why))
}
