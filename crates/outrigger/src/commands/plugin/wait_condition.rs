//! The conditions that can be waited for. Pure.

use kube::{Api, Client};
use outrigger_api::annotation::{RECONCILE, SUSPEND};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_api::reason::Reason;

use super::progress::{Awaited, Key, phase_and_message};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WaitCondition {
    /// Installed and healthy; disabled plugins: removed
    #[default]
    Ready,
    /// Disabled, and its release removed
    Disabled,
    /// The Plugin object is deleted
    #[value(alias = "gone")]
    Deleted,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WaitStatus {
    Met,
    /// The state of the object.
    Pending(String),
    /// A repository or a cluster does not respond, which may pass.
    Unreachable(String),
    /// Why the condition will not be met without a change.
    Failed(String),
}

impl Awaited for Plugin {
    type Condition = WaitCondition;
    const NOUN: &'static str = "plugin";

    fn evaluate(object: Option<&Self>, condition: &WaitCondition) -> WaitStatus {
        evaluate(object, *condition)
    }

    fn describe(&self) -> String {
        describe(self)
    }

    /// One namespace if all plugins are in it, else all namespaces.
    fn api(client: &Client, keys: &[Key]) -> Api<Self> {
        match keys {
            [(first, _), rest @ ..] if rest.iter().all(|(namespace, _)| namespace == first) => {
                Api::namespaced(client.clone(), first)
            }
            _ => Api::all(client.clone()),
        }
    }

    fn show_command((namespace, name): &Key) -> String {
        format!("outrigger plugin show {name} -n {namespace}")
    }
}

pub(super) fn evaluate(plugin: Option<&Plugin>, condition: WaitCondition) -> WaitStatus {
    let Some(plugin) = plugin else {
        return match condition {
            WaitCondition::Deleted => WaitStatus::Met,
            WaitCondition::Ready | WaitCondition::Disabled => {
                WaitStatus::Failed("deleted".to_owned())
            }
        };
    };
    if condition == WaitCondition::Deleted {
        return WaitStatus::Pending(describe(plugin));
    }
    if outrigger_api::compat::is_deleted(plugin) {
        return WaitStatus::Failed(being_deleted(plugin));
    }
    if let Some(status) = suspended(plugin, condition) {
        return status;
    }
    if !plugin.is_observed() {
        // The controller updates the Ready condition before it has completed the reconcile.
        let ready = plugin.condition("Ready");
        let is_current =
            ready.is_some_and(|ready| ready.observed_generation == plugin.metadata.generation);
        return WaitStatus::Pending(if is_current {
            describe(plugin)
        } else {
            "not observed by the controller yet".to_owned()
        });
    }
    if let Some(pending) = pending_request(plugin) {
        return pending;
    }
    match plugin.phase() {
        Phase::Disabled if condition == WaitCondition::Disabled || !plugin.spec.enabled => {
            WaitStatus::Met
        }
        Phase::Ready if condition == WaitCondition::Ready && plugin.spec.enabled => WaitStatus::Met,
        Phase::Failed => WaitStatus::Failed(describe(plugin)),
        Phase::Waiting | Phase::Degraded if is_unreachable(plugin) => {
            WaitStatus::Unreachable(describe(plugin))
        }
        _ => WaitStatus::Pending(describe(plugin)),
    }
}

/// A plugin that is being deleted is neither installed nor changed any more.
fn being_deleted(plugin: &Plugin) -> String {
    let blocked = plugin.condition("Removable");
    let blocked = blocked.map(|removable| removable.message.as_str());
    match blocked.filter(|message| !message.is_empty()) {
        Some(message) => format!("being deleted, and changes are not applied: {message}"),
        None => "being deleted, and changes are not applied".to_owned(),
    }
}

/// The status of a suspended plugin, which does not change until it is resumed.
fn suspended(plugin: &Plugin, condition: WaitCondition) -> Option<WaitStatus> {
    let is_met = plugin.is_observed()
        && match condition {
            WaitCondition::Ready => plugin.phase() == Phase::Ready && plugin.spec.enabled,
            _ => plugin.phase() == Phase::Disabled,
        };
    (plugin.is_annotated(SUSPEND) && !is_met).then(|| {
        let (name, namespace) = (plugin.name(), plugin.namespace());
        WaitStatus::Failed(format!(
            "suspended; `outrigger plugin resume {name} -n {namespace}` continues"
        ))
    })
}

fn is_unreachable(plugin: &Plugin) -> bool {
    let ready = plugin.condition("Ready");
    let reasons = [Reason::Unreachable, Reason::ClusterUnreachable];
    ready.is_some_and(|ready| ready.has_reason(&reasons))
}

/// A requested reconcile that the controller has not done yet.
fn pending_request(plugin: &Plugin) -> Option<WaitStatus> {
    let annotations = plugin.metadata.annotations.as_ref()?;
    let requested = annotations.get(RECONCILE)?;
    let status = plugin.status.as_ref();
    let handled = status.and_then(|status| status.reconcile_handled.as_ref());
    let is_pending = handled != Some(requested) && plugin.spec.enabled;
    is_pending.then(|| WaitStatus::Pending("being reconciled".to_owned()))
}

/// The phase, and the message of the Ready condition in one line.
pub(super) fn describe(plugin: &Plugin) -> String {
    let ready = plugin.condition("Ready");
    let message = ready.map(|ready| ready.message.as_str());
    phase_and_message(plugin.phase(), message.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plugin(phase: &str, enabled: bool, observed: i64) -> Plugin {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": "web", "generation": 2},
            "spec": {"enabled": enabled},
            "status": {"phase": phase, "observedGeneration": observed, "conditions": [{
                "type": "Ready", "status": "False", "reason": "X", "message": "no chart",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    #[test]
    fn only_the_observed_generation_counts() {
        let evaluate = |phase, enabled, observed, condition| {
            evaluate(Some(&plugin(phase, enabled, observed)), condition)
        };
        assert_eq!(
            evaluate("Ready", true, 2, WaitCondition::Ready),
            WaitStatus::Met
        );
        assert!(matches!(
            evaluate("Ready", true, 1, WaitCondition::Ready),
            WaitStatus::Pending(_)
        ));
        assert_eq!(
            evaluate("Disabled", false, 2, WaitCondition::Ready),
            WaitStatus::Met
        );
        assert_eq!(
            evaluate("Disabled", false, 2, WaitCondition::Disabled),
            WaitStatus::Met
        );
        assert!(matches!(
            evaluate("Ready", true, 2, WaitCondition::Disabled),
            WaitStatus::Pending(_)
        ));
        assert_eq!(
            evaluate("Failed", true, 2, WaitCondition::Ready),
            WaitStatus::Failed("Failed: no chart".to_owned())
        );
        assert!(matches!(
            evaluate("Failed", true, 1, WaitCondition::Ready),
            WaitStatus::Pending(_)
        ));
    }

    #[test]
    fn a_plugin_that_is_being_deleted_does_not_become_ready() {
        let mut plugin = plugin("Ready", true, 2);
        let time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        plugin.metadata.deletion_timestamp = Some(time);
        for condition in [WaitCondition::Ready, WaitCondition::Disabled] {
            let status = evaluate(Some(&plugin), condition);
            let expected = "being deleted, and changes are not applied".to_owned();
            assert_eq!(status, WaitStatus::Failed(expected));
        }
        let status = evaluate(Some(&plugin), WaitCondition::Deleted);
        assert!(matches!(status, WaitStatus::Pending(_)), "{status:?}");
    }

    #[test]
    fn a_suspended_plugin_is_not_waited_for() {
        let suspended = |phase, enabled, observed| {
            let mut plugin = plugin(phase, enabled, observed);
            let annotations = plugin.metadata.annotations.get_or_insert_default();
            annotations.insert(SUSPEND.to_owned(), "true".to_owned());
            plugin.metadata.namespace = Some("default".to_owned());
            plugin
        };
        let failed = WaitStatus::Failed(
            "suspended; `outrigger plugin resume web -n default` continues".to_owned(),
        );
        let evaluate = |plugin: Plugin, condition| evaluate(Some(&plugin), condition);
        let waiting = suspended("Waiting", true, 2);
        assert_eq!(evaluate(waiting, WaitCondition::Ready), failed);
        let unobserved = suspended("Ready", true, 1);
        assert_eq!(evaluate(unobserved, WaitCondition::Ready), failed);
        let disabled = suspended("Waiting", false, 2);
        assert_eq!(evaluate(disabled, WaitCondition::Disabled), failed);
        let ready = suspended("Ready", true, 2);
        assert_eq!(evaluate(ready, WaitCondition::Ready), WaitStatus::Met);
    }

    #[test]
    fn a_deleted_plugin_meets_only_deleted() {
        assert_eq!(evaluate(None, WaitCondition::Deleted), WaitStatus::Met);
        assert!(matches!(
            evaluate(None, WaitCondition::Ready),
            WaitStatus::Failed(_)
        ));
        assert!(matches!(
            evaluate(Some(&plugin("Removing", true, 2)), WaitCondition::Deleted),
            WaitStatus::Pending(_)
        ));
    }
}
