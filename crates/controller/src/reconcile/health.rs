//! Derives the phase of an installed plugin from the observed health and drift of its objects.

use std::time::{Duration, Instant};

use outrigger_api::duration;
use outrigger_api::plugin::{Drift, Phase, PluginStatus};
use outrigger_api::reason::{EventReason, Reason};

use super::Reconcile;
use crate::conditions::{self, APPLIED, ConditionUpdate};
use crate::decide::{self, ProgressTime};
use crate::events::PluginEvent;
use crate::observed::{WATCH_LAG, modified_text};
use crate::status;

/// How long a plugin may take to become healthy if its spec sets no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

impl Reconcile {
    pub(super) fn update_health(&mut self) {
        let before = self.pending.status.phase;
        let deadline = self.deadline();
        let time = ProgressTime {
            is_overdue: deadline.is_some_and(|deadline| deadline <= self.observed.now),
            is_short: self.is_progress_short(),
        };
        let assessment = decide::assess_health(before, &self.observed.objects, time);
        let phase = assessment.phase;
        if let Some((ready, healthy)) = assessment.explanation {
            self.pending.set_phase(phase, &ready);
            self.pending.set_condition(healthy);
        }
        self.report_drift();
        if phase == Phase::Ready {
            self.pending.status.attempts = 0;
            if self.failure.is_none() {
                self.retry.transient_failures = 0;
            }
        }
        if !self.observed.objects.is_incomplete {
            // The watches have reported all applied objects; one that is missing from now on was deleted.
            self.retry.applied = None;
        } else if let Some(applied) = &self.retry.applied {
            let at = applied.at + WATCH_LAG;
            if at > self.observed.now {
                self.requeue_by(at);
            }
        }
        if status::is_in_progress(phase) {
            self.requeue_at = self.requeue_at.or(deadline);
        } else {
            self.retry.started_at = None;
            if self.observed.objects.drifted.is_empty() && phase == Phase::Ready {
                self.reset_drift_backoff();
            }
        }
    }

    /// Reports the health of the revision that a rollback restored. The phase stays: the plugin is not as specified.
    pub(super) fn report_restored_health(&mut self) {
        let time = ProgressTime {
            is_overdue: false,
            is_short: false,
        };
        let assessment = decide::assess_health(Phase::Degraded, &self.observed.objects, time);
        if let Some((_, healthy)) = assessment.explanation {
            self.pending.set_condition(healthy);
        }
    }

    /// Whether the objects have not been in progress for long. If so, the plugin is reconciled again when that changes.
    fn is_progress_short(&mut self) -> bool {
        if self.observed.objects.unhealthy.is_empty() {
            self.retry.progressing_since = None;
            return false;
        }
        let now = self.observed.now;
        let since = *self.retry.progressing_since.get_or_insert(now);
        let until = since + self.ctx.options.progress_grace;
        let is_short = until > now;
        if is_short && self.pending.status.phase == Phase::Ready {
            self.requeue_by(until);
        }
        is_short
    }

    /// When the current installation or upgrade times out.
    fn deadline(&self) -> Option<Instant> {
        let timeout = self.observed.plugin.spec.timeout.as_deref();
        let timeout = timeout.and_then(duration::parse).unwrap_or(DEFAULT_TIMEOUT);
        self.retry.started_at?.checked_add(timeout)
    }

    /// Resets the backoff if drift has not been corrected for longer than its maximum.
    fn reset_drift_backoff(&mut self) {
        let max = self.ctx.options.backoff.max;
        if let Some(last) = self.retry.drift_corrected_at
            && self.observed.now.duration_since(last) > max
        {
            self.retry.drift_corrections = 0;
        }
    }

    fn report_drift(&mut self) {
        let policy = self.observed.plugin.spec.drift;
        if policy == Drift::Ignore {
            return;
        }
        let was_drifted = is_drifted(&self.pending.status);
        let mut drifted = self.observed.objects.drifted.clone();
        // Those are left as they are, whatever the policy.
        let is_kept = policy == Drift::Warn || drifted.is_empty();
        drifted.extend(self.modified_children());
        if drifted.is_empty() {
            if was_drifted {
                let revision = self.pending.status.revision.unwrap_or_default();
                let message = format!("revision {revision}");
                self.pending.set_condition(ConditionUpdate::mark_true(
                    APPLIED,
                    Reason::Applied,
                    message,
                ));
            }
            return;
        }
        let message = drifted.join("; ");
        if is_kept && !was_drifted {
            let note = self.redactor.text(&message);
            self.emit(PluginEvent::warning(EventReason::Drifted, note));
        }
        self.pending.set_condition(ConditionUpdate::mark_true(
            APPLIED,
            Reason::Drifted,
            message,
        ));
    }
}

impl Reconcile {
    /// Describes the plugins of the release that were modified, and the way out.
    fn modified_children(&self) -> Option<String> {
        let children = &self.observed.objects.modified_children;
        if children.is_empty() {
            return None;
        }
        let children: Vec<String> = children.iter().map(modified_text).collect();
        let plugin = &self.observed.plugin;
        Some(format!(
            "{}, and is left as it is; `outrigger plugin set {} -n {} --conflicts take` restores it",
            children.join("; "),
            plugin.name(),
            plugin.namespace()
        ))
    }
}

fn is_drifted(status: &PluginStatus) -> bool {
    let applied = conditions::find(&status.conditions, APPLIED);
    applied.is_some_and(|applied| applied.reason == Reason::Drifted)
}
