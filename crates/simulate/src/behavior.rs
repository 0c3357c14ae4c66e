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
}
