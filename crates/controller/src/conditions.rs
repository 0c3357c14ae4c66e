//! The condition types of a plugin, and how a condition is set.

use jiff::Timestamp;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::reason::Reason;

pub(crate) const READY: &str = "Ready";
pub(crate) const DEPENDENCIES_READY: &str = "DependenciesReady";
pub(crate) const FETCHED: &str = "Fetched";
pub(crate) const RENDERED: &str = "Rendered";
pub(crate) const APPLIED: &str = "Applied";
pub(crate) const HEALTHY: &str = "Healthy";
/// Present only while a requested removal is blocked.
pub(crate) const REMOVABLE: &str = "Removable";

/// Longer messages are truncated, in characters.
const MAX_MESSAGE: usize = 1024;

/// Why something was not done: reason and message of the condition that reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Cause {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// A new value for one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConditionUpdate {
    pub(crate) kind: &'static str,
    pub(crate) status: ConditionStatus,
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl ConditionUpdate {
    pub(crate) fn mark_true(
        kind: &'static str,
        reason: Reason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status: ConditionStatus::True,
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn mark_false(
        kind: &'static str,
        reason: Reason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status: ConditionStatus::False,
            ..Self::mark_true(kind, reason, message)
        }
    }

    pub(crate) fn mark_unknown(
        kind: &'static str,
        reason: Reason,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status: ConditionStatus::Unknown,
            ..Self::mark_true(kind, reason, message)
        }
    }
}

/// Sets a condition. Its transition time changes only if its status does.
pub(crate) fn set(
    conditions: &mut Vec<Condition>,
    update: ConditionUpdate,
    generation: Option<i64>,
    now: Timestamp,
) {
    let mut condition = Condition {
        kind: update.kind.to_owned(),
        status: update.status,
        reason: update.reason.to_string(),
        message: truncated(update.message),
        last_transition_time: format_time(now),
        observed_generation: generation,
    };
    match conditions.iter_mut().find(|old| old.kind == update.kind) {
        Some(old) => {
            if old.status == condition.status {
                condition.last_transition_time = std::mem::take(&mut old.last_transition_time);
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
}

pub(crate) fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

pub(crate) fn find_mut<'a>(
    conditions: &'a mut [Condition],
    kind: &str,
) -> Option<&'a mut Condition> {
    conditions
        .iter_mut()
        .find(|condition| condition.kind == kind)
}

pub(crate) fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == ConditionStatus::True)
}

pub(crate) fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn truncated(message: String) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        None => message,
        Some((end, _)) => format!("{} …", &message[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let mut conditions = Vec::new();
        set(
            &mut conditions,
            ConditionUpdate::mark_false(READY, Reason::Fetching, "a"),
            Some(1),
            at(0),
        );
        set(
            &mut conditions,
            ConditionUpdate::mark_false(READY, Reason::Unreachable, "b"),
            Some(2),
            at(9),
        );
        let condition = find(&conditions, READY).unwrap();
        assert_eq!(condition.reason, Reason::Unreachable);
        assert_eq!(condition.observed_generation, Some(2));
        assert_eq!(condition.last_transition_time, "1970-01-01T00:00:00Z");
        set(
            &mut conditions,
            ConditionUpdate::mark_true(READY, Reason::Ready, ""),
            Some(2),
            at(9),
        );
        let condition = find(&conditions, READY).unwrap();
        assert_eq!(condition.last_transition_time, "1970-01-01T00:00:09Z");
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn long_messages_are_truncated() {
        let mut conditions = Vec::new();
        let long = "ü".repeat(5000);
        set(
            &mut conditions,
            ConditionUpdate::mark_false(READY, Reason::Unreachable, long),
            None,
            at(0),
        );
        assert_eq!(conditions[0].message.chars().count(), MAX_MESSAGE + 2);
    }
}
