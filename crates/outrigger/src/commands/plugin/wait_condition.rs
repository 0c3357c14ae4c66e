//! Is a plugin where somebody waits for it to be? Pure.

use outrigger_api::plugin::{Phase, Plugin};

/// What is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Goal {
    /// Installed and healthy, or off if it is switched off
    #[default]
    Ready,
    /// Switched off, nothing left
    Disabled,
    /// The object is gone too
    Gone,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Reached,
    /// Not yet, and why
    Waiting(String),
    /// It will not get there by itself
    Failed(String),
}

pub(super) fn judge(plugin: Option<&Plugin>, goal: Goal) -> Verdict {
    let Some(plugin) = plugin else {
        return match goal {
            Goal::Gone => Verdict::Reached,
            Goal::Ready | Goal::Disabled => Verdict::Failed("it was removed".to_owned()),
        };
    };
    if goal == Goal::Gone {
        return Verdict::Waiting(describe(plugin));
    }
    if !plugin.is_observed() {
        // Before it is done with it, the controller may have something to say.
        let ready = plugin.condition("Ready");
        let is_new =
            ready.is_some_and(|ready| ready.observed_generation == plugin.metadata.generation);
        return Verdict::Waiting(if is_new {
            describe(plugin)
        } else {
            "not seen by the controller yet".to_owned()
        });
    }
    match plugin.phase() {
        Phase::Disabled if goal == Goal::Disabled || !plugin.spec.enabled => Verdict::Reached,
        Phase::Ready if goal == Goal::Ready && plugin.spec.enabled => Verdict::Reached,
        Phase::Failed => Verdict::Failed(describe(plugin)),
        _ => Verdict::Waiting(describe(plugin)),
    }
}

/// Its phase, and what it says of it.
pub(super) fn describe(plugin: &Plugin) -> String {
    let phase = format!("{:?}", plugin.phase());
    match plugin
        .condition("Ready")
        .map(|ready| ready.message.as_str())
    {
        None | Some("") => phase,
        Some(message) => format!("{phase}: {message}"),
    }
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
    fn only_what_was_seen_as_it_is_now_counts() {
        let judge =
            |phase, enabled, observed, goal| judge(Some(&plugin(phase, enabled, observed)), goal);
        assert_eq!(judge("Ready", true, 2, Goal::Ready), Verdict::Reached);
        assert!(matches!(
            judge("Ready", true, 1, Goal::Ready),
            Verdict::Waiting(_)
        ));
        assert_eq!(judge("Disabled", false, 2, Goal::Ready), Verdict::Reached);
        assert_eq!(
            judge("Disabled", false, 2, Goal::Disabled),
            Verdict::Reached
        );
        assert!(matches!(
            judge("Ready", true, 2, Goal::Disabled),
            Verdict::Waiting(_)
        ));
        assert_eq!(
            judge("Failed", true, 2, Goal::Ready),
            Verdict::Failed("Failed: no chart".to_owned())
        );
        assert!(matches!(
            judge("Failed", true, 1, Goal::Ready),
            Verdict::Waiting(_)
        ));
    }

    #[test]
    fn what_is_gone_is_gone() {
        assert_eq!(judge(None, Goal::Gone), Verdict::Reached);
        assert!(matches!(judge(None, Goal::Ready), Verdict::Failed(_)));
        assert!(matches!(
            judge(Some(&plugin("Removing", true, 2)), Goal::Gone),
            Verdict::Waiting(_)
        ));
    }
}
