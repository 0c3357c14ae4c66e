//! Conditions of a plugin: which there are, and when their times change.

use jiff::Timestamp;
use outrigger_api::condition::{Condition, Truth};

pub(crate) const READY: &str = "Ready";
pub(crate) const DEPENDENCIES_READY: &str = "DependenciesReady";
pub(crate) const FETCHED: &str = "Fetched";
pub(crate) const RENDERED: &str = "Rendered";
pub(crate) const APPLIED: &str = "Applied";
pub(crate) const HEALTHY: &str = "Healthy";
/// There only while somebody asks for a removal that cannot go on.
pub(crate) const REMOVABLE: &str = "Removable";

/// Longest message that is kept; the rest of an error's text helps nobody.
const LONGEST: usize = 1024;

/// What is said about one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saying {
    pub(crate) kind: &'static str,
    pub(crate) status: Truth,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Saying {
    pub(crate) fn yes(
        kind: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status: Truth::True,
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn no(kind: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: Truth::False,
            ..Self::yes(kind, reason, message)
        }
    }

    pub(crate) fn unknown(
        kind: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status: Truth::Unknown,
            ..Self::yes(kind, reason, message)
        }
    }
}

/// Puts a saying among the conditions. Its time changes only when its status does.
pub(crate) fn set(
    conditions: &mut Vec<Condition>,
    saying: Saying,
    generation: Option<i64>,
    now: Timestamp,
) {
    let mut condition = Condition {
        kind: saying.kind.to_owned(),
        status: saying.status,
        reason: saying.reason.to_owned(),
        message: shortened(saying.message),
        last_transition_time: time_text(now),
        observed_generation: generation,
    };
    match conditions.iter_mut().find(|old| old.kind == saying.kind) {
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

pub(crate) fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == Truth::True)
}

pub(crate) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn shortened(message: String) -> String {
    match message.char_indices().nth(LONGEST) {
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
    fn times_change_with_the_status_only() {
        let mut conditions = Vec::new();
        set(&mut conditions, Saying::no(READY, "A", "a"), Some(1), at(0));
        set(&mut conditions, Saying::no(READY, "B", "b"), Some(2), at(9));
        let condition = find(&conditions, READY).unwrap();
        assert_eq!(condition.reason, "B");
        assert_eq!(condition.observed_generation, Some(2));
        assert_eq!(condition.last_transition_time, "1970-01-01T00:00:00Z");
        set(&mut conditions, Saying::yes(READY, "C", ""), Some(2), at(9));
        let condition = find(&conditions, READY).unwrap();
        assert_eq!(condition.last_transition_time, "1970-01-01T00:00:09Z");
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn endless_messages_are_cut() {
        let mut conditions = Vec::new();
        let endless = "ü".repeat(5000);
        set(
            &mut conditions,
            Saying::no(READY, "A", endless),
            None,
            at(0),
        );
        assert_eq!(conditions[0].message.chars().count(), LONGEST + 2);
    }
}
