//! Records why a reconcile did not succeed, and when it is retried.

use std::time::{Duration, Instant};

use outrigger_api::plugin::Phase;
use outrigger_api::reason::{EventReason, Reason};

use super::Reconcile;
use crate::conditions::{self, Cause, HEALTHY, READY};
use crate::decide;
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::metrics::ReconcileResult;
use crate::observed::ReportedFailures;

/// How often the records of a release are read while another tool changes it. Nothing reports the end.
const BUSY_INTERVAL: Duration = Duration::from_secs(2);

impl Reconcile {
    pub(super) fn record_error(&mut self, error: ReconcileError) {
        let error = self.redactor.error(error);
        self.failure = match error {
            ReconcileError::Superseded
            | ReconcileError::Wait(_)
            | ReconcileError::Awaited(_)
            | ReconcileError::Busy(_) => None,
            ReconcileError::Rejected(_) | ReconcileError::Failed { .. } => {
                Some(ReconcileResult::Failed)
            }
            ReconcileError::Transient { .. } => Some(ReconcileResult::Unreachable),
        };
        match error {
            ReconcileError::Superseded => self.record_superseded(),
            ReconcileError::Wait(cause) => {
                self.retry.cached_digest = None;
                self.pending.mark_waiting(&cause);
            }
            ReconcileError::Awaited(cause) => {
                let retry_at = self.next_transient_retry();
                self.requeue_by(retry_at);
                self.pending.mark_waiting(&cause);
            }
            ReconcileError::Busy(cause) => {
                self.requeue_by(Instant::now() + BUSY_INTERVAL);
                self.pending.mark_waiting(&cause);
            }
            ReconcileError::Rejected(cause) => self.reject(&cause),
            ReconcileError::Failed { condition, cause } => self.record_failure(condition, &cause),
            ReconcileError::Transient { condition, cause } => {
                self.record_unreachable(condition, &cause);
            }
        }
    }

    /// A server did not respond, which does not count as an attempt.
    fn record_unreachable(&mut self, condition: &'static str, cause: &Cause) {
        let retry_at = self.next_transient_retry();
        self.emit_failure(EventReason::Unreachable, &cause.message);
        if self.is_installed_as_specified() {
            self.pending.mark_unknown(condition, cause);
            self.update_health();
        } else if self.is_new_generation() || is_before_installation(self.observed.status.phase) {
            if self.is_new_generation() {
                self.pending.status.attempts = 0;
            }
            self.pending.mark_unreachable(condition, cause);
            // It lasts at least until the retry.
            self.is_write_due = true;
        } else {
            // The operation in progress continues when the server responds.
            let phase = self.observed.status.phase;
            self.pending.mark_interrupted(phase, condition, cause);
        }
        self.requeue_by(retry_at);
    }

    /// Whether the spec changed since the status was written.
    fn is_new_generation(&self) -> bool {
        let status = &self.observed.status;
        status.observed_generation != self.observed.plugin.metadata.generation
    }

    /// Counts a transient failure. Returns when to retry.
    pub(super) fn next_transient_retry(&mut self) -> Instant {
        self.retry.transient_failures += 1;
        let backoff = self.ctx.options.backoff;
        Instant::now() + backoff.delay(self.retry.transient_failures)
    }

    /// Discards the pending status; the next reconcile starts over.
    fn record_superseded(&mut self) {
        // If the watch has not reported the change yet, it soon will.
        let is_reported = *self.superseded.borrow();
        let delay = if is_reported {
            Duration::ZERO
        } else {
            self.ctx.options.backoff.initial
        };
        self.requeue_at = Some(Instant::now() + delay);
        let written = self.current.status.clone().filter(|_| self.has_written);
        self.pending.status = written.unwrap_or_else(|| self.observed.status.clone());
    }

    pub(super) fn reject(&mut self, cause: &Cause) {
        self.emit_failure(EventReason::Refused, &cause.message);
        self.pending.mark_rejected(cause);
    }

    /// Emits a warning about a failure: once for each message, until the plugin is ready again. A restart does not repeat
    /// what the status says.
    pub(super) fn emit_failure(&mut self, reason: EventReason, message: &str) {
        let mut conditions = self.observed.status.conditions.iter();
        let is_written = conditions.any(|condition| condition.message.starts_with(message));
        if self.retry.reported_failures.insert(message) && !is_written {
            self.emit(PluginEvent::warning(reason, message));
        }
    }

    /// Lets failures be reported again, once the plugin is ready with its current inputs.
    pub(super) fn forget_reported_failures(&mut self) {
        let are_inputs_known = self.retry.cached_digest.is_some();
        if self.pending.status.phase == Phase::Ready && self.failure.is_none() && are_inputs_known {
            self.retry.reported_failures = ReportedFailures::default();
        }
    }

    fn record_failure(&mut self, condition: &'static str, cause: &Cause) {
        let inputs = self.attempted_inputs.clone();
        self.pending.status.failed_digest.clone_from(&inputs);
        let inputs = inputs.unwrap_or_else(|| decide::unresolved_inputs(&self.observed));
        if !decide::has_failed_with(&self.observed, &inputs) {
            self.pending.status.attempts = 0;
        }
        self.retry.failed_inputs = Some(inputs);
        let attempts = self.pending.status.attempts + 1;
        let is_rolled_back = decide::ROLLED_BACK.contains(&cause.reason);
        let plugin = &self.observed.plugin;
        let is_last = decide::are_retries_exhausted(plugin, attempts, is_rolled_back);
        self.pending
            .mark_failed(condition, cause, is_last, &self.observed.key);
        if cause.reason == Reason::RolledBack {
            self.restore_health();
        }
        let ready = conditions::find(&self.pending.status.conditions, READY);
        let message = ready.map_or_else(|| cause.message.clone(), |ready| ready.message.clone());
        self.emit_failure(EventReason::Failed, &message);
        let retry_at = Instant::now() + self.ctx.options.backoff.delay(attempts);
        self.retry.retry_at = Some(retry_at);
        self.requeue_at = (!is_last).then_some(retry_at);
    }

    /// A rollback waited until the objects of the revision before were healthy again.
    fn restore_health(&mut self) {
        let before = conditions::find(&self.observed.status.conditions, HEALTHY);
        let now = conditions::find_mut(&mut self.pending.status.conditions, HEALTHY);
        if let (Some(before), Some(now)) = (before, now) {
            now.clone_from(before);
        }
    }
}

/// Whether nothing is in progress yet in this phase.
fn is_before_installation(phase: Phase) -> bool {
    matches!(phase, Phase::Pending | Phase::Waiting)
}
