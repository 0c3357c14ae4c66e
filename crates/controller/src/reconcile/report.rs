//! Logs a reconcile that did something, in one line, and counts all reconciles.

use std::time::Duration;

use super::Reconcile;
use crate::conditions::{self, READY};
use crate::metrics::ReconcileResult;

impl Reconcile {
    /// Reports the end of a reconcile. `is_released`: the deleted plugin was released.
    pub(super) fn report(&self, is_released: bool, duration: Duration) {
        let metrics = &self.ctx.options.metrics;
        let result = match self.failure {
            Some(failure) => failure,
            None if self.has_written => ReconcileResult::Changed,
            None => ReconcileResult::Unchanged,
        };
        metrics.record_reconcile(result, duration);
        if is_released {
            metrics.forget(&self.observed.key);
        } else {
            metrics.set_phase(&self.observed.key, self.pending.status.phase);
        }
        if result != ReconcileResult::Unchanged {
            self.log(result, is_released, duration);
        }
    }

    fn log(&self, result: ReconcileResult, is_released: bool, duration: Duration) {
        let plugin = self.observed.key.to_string();
        let seconds = duration.as_secs_f64();
        if is_released {
            tracing::info!(plugin, seconds, "plugin removed");
            return;
        }
        let status = &self.pending.status;
        let ready = conditions::find(&status.conditions, READY);
        let (reason, detail) = ready.map_or(("", ""), |ready| (&*ready.reason, &*ready.message));
        let phase = status.phase;
        if result == ReconcileResult::Changed {
            let revision = status.revision.unwrap_or_default();
            let version = status.version.as_deref().unwrap_or_default();
            tracing::info!(
                plugin,
                ?phase,
                revision,
                version,
                seconds,
                reason,
                detail,
                "plugin reconciled"
            );
        } else {
            tracing::warn!(plugin, ?phase, seconds, reason, detail, "reconcile failed");
        }
    }
}
