//! Failures on request: the annotation that makes a workload misbehave.

use std::time::Duration;

use serde_json::Value;

use super::object::annotation;

/// Says how an object is to behave; also on the template of its pods.
pub const SIMULATE: &str = "outrigger.dev/simulate";
/// Marks what is simulated.
pub const SIMULATED: &str = "outrigger.dev/simulated";

/// Longest that a pod can be made to take.
const SLOWEST: Duration = Duration::from_hours(24);

/// How an object behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Normal,
    /// Pods run and never become ready.
    NeverReady,
    /// Containers end again and again.
    CrashLoop,
    /// Pods take this long to become ready.
    Slow(Duration),
    /// Pods of Jobs fail.
    JobFails,
    /// Claims stay without a volume.
    ClaimPending,
}

impl Mode {
    /// What the object itself says; what nobody knows means nothing.
    pub(super) fn of(object: &Value) -> Option<Self> {
        Some(match annotation(object, SIMULATE) {
            "never-ready" => Self::NeverReady,
            "crash-loop" => Self::CrashLoop,
            "job-fails" => Self::JobFails,
            "pvc-pending" => Self::ClaimPending,
            "normal" => Self::Normal,
            text => {
                let seconds: u64 = text.strip_prefix("slow=")?.parse().ok()?;
                Self::Slow(Duration::from_secs(seconds).min(SLOWEST))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_annotation_says_how() {
        let mode = |text: &str| Mode::of(&json!({"metadata": {"annotations": {SIMULATE: text}}}));
        assert_eq!(mode("never-ready"), Some(Mode::NeverReady));
        assert_eq!(mode("slow=3"), Some(Mode::Slow(Duration::from_secs(3))));
        assert_eq!(mode("slow=99999999"), Some(Mode::Slow(SLOWEST)));
        assert_eq!(mode("slow=x"), None);
        assert_eq!(mode(""), None);
    }
}
