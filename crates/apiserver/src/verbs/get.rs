//! One object.

use http::StatusCode;
use outrigger_apimachinery::status::Status;

use super::call::Call;
use super::present;
use crate::negotiate::Answer;
use crate::request::parse_revision;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let wanted = call.query.text("resourceVersion");
    if !matches!(wanted, "" | "0") {
        let wanted = parse_revision(wanted)?;
        let current = call.state.store.revision();
        if wanted > current {
            return Err(Status::too_large_resource_version(wanted, current));
        }
    }
    let object = call.state.store.get(&call.key()?);
    let object = object.ok_or_else(|| call.not_found(call.name()))?;
    present::object(call, StatusCode::OK, &object)
}
