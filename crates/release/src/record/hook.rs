//! Hooks as release records store them.

use std::fmt;

use jiff::Timestamp;
use outrigger_chart::manifest::hook::Event;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub manifest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    #[serde(default)]
    pub last_run: HookExecution,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delete_policies: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_log_policies: Vec<String>,
}

/// The last execution of a hook. The phase is `Unknown`, `Running`, `Succeeded` or `Failed`, empty if it never ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookExecution {
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(default)]
    pub phase: String,
    /// The event that it runs for, of which Helm knows nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// The uids of the objects that existed before. Other objects of the hook are those of this execution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
}

/// Omits the manifest, which may be a Secret.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("events", &self.events)
            .field("last_run", &self.last_run)
            .finish_non_exhaustive()
    }
}

impl Hook {
    pub fn runs_at(&self, event: Event) -> bool {
        self.events
            .iter()
            .any(|name| Event::parse(name) == Some(event))
    }

    /// Whether the delete policy applies. The default is `before-hook-creation`.
    pub(crate) fn has_delete_policy(&self, policy: &str) -> bool {
        match self.delete_policies.as_slice() {
            [] => policy == BEFORE_CREATION,
            policies => policies.iter().any(|name| name == policy),
        }
    }

    /// Whether it has succeeded at this event, also if its action has come further since.
    pub(crate) fn is_done(&self, event: Event) -> bool {
        let last = &self.last_run;
        let following = match event {
            Event::PreInstall => Some(Event::PostInstall),
            Event::PreUpgrade => Some(Event::PostUpgrade),
            Event::PreRollback => Some(Event::PostRollback),
            Event::PreDelete => Some(Event::PostDelete),
            _ => None,
        };
        (last.event == event.name() && last.phase == "Succeeded")
            || following.is_some_and(|following| last.event == following.name())
    }

    /// Whether it was started for this event, and its result is not known.
    pub(crate) fn is_interrupted(&self, event: Event) -> bool {
        self.last_run.event == event.name() && self.last_run.phase == "Running"
    }
}

pub(crate) const BEFORE_CREATION: &str = "before-hook-creation";
pub(crate) const SUCCEEDED: &str = "hook-succeeded";
pub(crate) const FAILED: &str = "hook-failed";

/// The indices of the hooks of an event, by weight, then name. `hooks` is sorted by kind.
pub(crate) fn execution_order(hooks: &[Hook], event: Event) -> Vec<usize> {
    let mut order: Vec<usize> = (0..hooks.len())
        .filter(|&at| hooks[at].runs_at(event))
        .collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&hooks[a], &hooks[b]);
        a.weight.cmp(&b.weight).then_with(|| a.name.cmp(&b.name))
    });
    order
}

impl From<outrigger_chart::Hook> for Hook {
    fn from(hook: outrigger_chart::Hook) -> Self {
        Self {
            name: hook.name,
            kind: hook.kind,
            path: hook.path,
            manifest: hook.manifest,
            events: hook
                .events
                .iter()
                .map(|event| event.name().to_owned())
                .collect(),
            last_run: HookExecution::default(),
            weight: hook.weight,
            delete_policies: hook.delete_policies,
            output_log_policies: hook.output_log_policies,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "required by serde")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Timestamps: Helm 3 writes "" for none, Helm 4 omits them; both write any UTC offset.
pub(crate) mod time {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "required by serde")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.to_string()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.and_then(|text| text.parse().ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(name: &str, weight: i64, events: &[&str]) -> Hook {
        Hook {
            name: name.to_owned(),
            weight,
            events: events.iter().map(|&event| event.to_owned()).collect(),
            ..Hook::default()
        }
    }

    #[test]
    fn hooks_of_an_event_run_by_weight_then_by_name() {
        let hooks = [
            hook("c", 5, &["pre-install"]),
            hook("b", -1, &["pre-install", "pre-upgrade"]),
            hook("a", 5, &["pre-install"]),
            hook("t", 0, &["test-success"]),
        ];
        assert_eq!(execution_order(&hooks, Event::PreInstall), [1, 2, 0]);
        assert_eq!(execution_order(&hooks, Event::PreUpgrade), [1]);
        assert_eq!(execution_order(&hooks, Event::Test), [3]);
    }

    #[test]
    fn the_default_delete_policy_is_before_hook_creation() {
        let mut hook = hook("a", 0, &["pre-install"]);
        assert!(hook.has_delete_policy(BEFORE_CREATION) && !hook.has_delete_policy(SUCCEEDED));
        hook.delete_policies = vec![SUCCEEDED.to_owned()];
        assert!(!hook.has_delete_policy(BEFORE_CREATION) && hook.has_delete_policy(SUCCEEDED));
    }

    #[test]
    fn timestamps_of_helm_3_and_helm_4_are_read() {
        let read = |json: &str| {
            serde_json::from_str::<HookExecution>(json)
                .unwrap()
                .started_at
        };
        assert_eq!(read(r#"{"started_at":"","phase":""}"#), None);
        assert_eq!(read(r#"{"phase":"Failed"}"#), None);
        let time = read(r#"{"started_at":"2026-11-16T05:15:34.123456789+01:00"}"#).unwrap();
        assert_eq!(time.to_string(), "2026-11-16T04:15:34.123456789Z");
    }
}
