//! Waits for other tools, such as Helm, that are changing the release.

use std::time::Duration;

use jiff::Timestamp;
use outrigger_api::reason::Reason;
use outrigger_release::History;

use crate::conditions::Cause;

/// How long another tool may take before its operation counts as interrupted and is taken over: Helm's default timeout.
const MAX_DURATION: Duration = Duration::from_mins(5);

/// The operation that must be waited for, if there is one.
pub(super) fn cause(history: &History, now: Timestamp) -> Option<Cause> {
    let operation = history.foreign_operation()?;
    let since = operation.since?;
    // A time that is far in the future comes from a wrong clock.
    let age = now.duration_since(since).unsigned_abs();
    if age >= MAX_DURATION {
        return None;
    }
    let until = since + MAX_DURATION;
    let message = format!(
        "another tool is changing release {}: revision {} is {} since {since:.0}; waiting until it ends, or until {until:.0}",
        history.id(),
        operation.revision,
        operation.status,
    );
    Some(Cause::new(Reason::OperationInProgress, message))
}
