//! Records in the release history whether the installed revision became healthy.

use std::sync::Arc;

use outrigger_api::plugin::Phase;
use outrigger_api::reason::Reason;
use outrigger_release::Verdict;

use super::Reconcile;
use crate::act;
use crate::conditions::{self, READY};

impl Reconcile {
    /// Marks the record of the installed revision failed if its objects failed or timed out, and deployed once they are
    /// healthy. That decides what is rolled back to.
    pub(super) async fn record_verdict(&mut self) {
        let Some(verdict) = self.verdict() else {
            return;
        };
        let (ctx, plugin) = (Arc::clone(&self.ctx), Arc::clone(&self.observed.plugin));
        let recorded = act::record_verdict(&ctx, &plugin, &self.pending.status, verdict).await;
        match recorded {
            Ok(Some(version)) => self.pending.status.record_version = Some(version),
            Ok(None) => {}
            Err(error) => {
                let error = self.redactor.error(error);
                tracing::info!(plugin = %self.observed.key, %error, "failed to update release record");
                let retry_at = self.next_transient_retry();
                self.requeue_by(retry_at);
            }
        }
    }

    /// Whether the installed revision became healthy; `None` if that is unknown or recorded.
    fn verdict(&self) -> Option<Verdict> {
        let objects = &self.observed.objects;
        let status = &self.pending.status;
        let is_assessed = status.input_digest.is_some()
            && status.installed_generation == self.observed.plugin.metadata.generation
            && self.attempted_inputs.is_none()
            && !objects.is_incomplete
            && objects.unreachable.is_none()
            && !*self.superseded.borrow();
        let ready = conditions::find(&status.conditions, READY).filter(|_| is_assessed)?;
        match (status.phase, objects.record_status.as_deref()?) {
            (Phase::Ready, "failed") => Some(Verdict::Healthy(None)),
            (Phase::Failed, "deployed")
                if ready.has_reason(&[Reason::Unhealthy, Reason::Timeout]) =>
            {
                Some(Verdict::Failed(ready.message.clone()))
            }
            _ => None,
        }
    }
}
