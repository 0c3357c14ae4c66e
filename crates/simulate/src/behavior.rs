//! Fault injection: the annotation that makes a workload fail.

use std::time::Duration;

use serde_json::Value;

use super::object::annotation;

/// The annotation that selects the behavior of an object or, on a pod template, of its pods.
pub const SIMULATE: &str = "outrigger.dev/simulate";
/// The label and annotation of simulated objects.
pub const SIMULATED: &str = "outrigger.dev/simulated";

/// The longest start that can be requested.
const MAX_DELAY: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    Normal,
    /// Pods run and never become ready.
    NeverReady,
    /// Containers terminate and are restarted.
    CrashLoop,
    /// Pods take this long to become ready.
    Slow(Duration),
    /// Pods of Jobs fail.
    JobFails,
    /// Claims are not bound.
    ClaimPending,
}

impl Behavior {
    /// The behavior that the object itself requests. Unknown values are ignored.
    pub(super) fn of(object: &Value) -> Option<Self> {
        Some(match annotation(object, SIMULATE) {
            "never-ready" => Self::NeverReady,
            "crash-loop" => Self::CrashLoop,
            "job-fails" => Self::JobFails,
            "pvc-pending" => Self::ClaimPending,
            "normal" => Self::Normal,
            text => {
                let seconds: u64 = text.strip_prefix("slow=")?.parse().ok()?;
                Self::Slow(Duration::from_secs(seconds).min(MAX_DELAY))
            }
        })
    }
}

/// A warning for each new value of the annotation that has no effect, on the object and on its pod template.
pub(super) fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    const TEMPLATES: [&str; 3] = ["", "/spec/template", "/spec/jobTemplate/spec/template"];
    let unknown = TEMPLATES.iter().filter_map(|path| {
        let object = new.pointer(path)?;
        let value = annotation(object, SIMULATE);
        let old = old.and_then(|old| old.pointer(path));
        let is_new = old.is_none_or(|old| annotation(old, SIMULATE) != value);
        (is_new && !value.is_empty() && Behavior::of(object).is_none()).then_some(value)
    });
    unknown
        .map(|value| {
            format!(
                "annotation {SIMULATE}: unknown value \"{value}\" has no effect; valid values: normal, never-ready, crash-loop, slow=SECONDS, job-fails, pvc-pending"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_the_annotation() {
        let behavior =
            |text: &str| Behavior::of(&json!({"metadata": {"annotations": {SIMULATE: text}}}));
        assert_eq!(behavior("never-ready"), Some(Behavior::NeverReady));
        assert_eq!(
            behavior("slow=3"),
            Some(Behavior::Slow(Duration::from_secs(3)))
        );
        assert_eq!(behavior("slow=99999999"), Some(Behavior::Slow(MAX_DELAY)));
        assert_eq!(behavior("slow=x"), None);
        assert_eq!(behavior(""), None);
    }

    #[test]
    fn unknown_values_are_warned_about_once() {
        let annotated = |text: &str| json!({"annotations": {SIMULATE: text}});
        let object = |own: &str, of_template: &str| json!({"metadata": annotated(own), "spec": {"template": {"metadata": annotated(of_template)}}});
        for valid in [
            "",
            "normal",
            "never-ready",
            "crash-loop",
            "slow=3",
            "job-fails",
            "pvc-pending",
        ] {
            assert!(warnings(&object(valid, valid), None).is_empty(), "{valid}");
        }
        let (good, bad) = (object("", "crash-loop"), object("", "crashloop"));
        let found = warnings(&bad, Some(&good));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("\"crashloop\"") && found[0].contains("crash-loop, slow=SECONDS")
        );
        assert_eq!(warnings(&object("slow=x", "crashloop"), None).len(), 2);
        assert!(warnings(&bad, Some(&bad)).is_empty());
    }
}
