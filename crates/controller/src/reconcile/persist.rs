//! Writes the status, the finalizer and the owner references of a plugin: only changes, and phases that usually end soon only
//! if they last.

use std::sync::Arc;
use std::time::Instant;

use outrigger_api::plugin::{Phase, Plugin};
use outrigger_api::reason::{EventReason, Reason};

use super::Reconcile;
use crate::conditions::{self, READY};
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::lifecycle::has_finalizer;
use crate::status;

/// How much longer a new message for the same phase is deferred than a new phase.
const MESSAGE_DELAY_FACTOR: u32 = 2;

impl Reconcile {
    pub(super) async fn add_finalizer(&mut self) -> Result<(), ReconcileError> {
        if has_finalizer(&self.current) {
            return Ok(());
        }
        self.write_finalizer(true).await
    }

    pub(super) async fn write_finalizer(&mut self, is_present: bool) -> Result<(), ReconcileError> {
        let result = status::set_finalizer(&self.ctx.client, &self.current, is_present).await;
        self.record_metadata(result)
    }

    /// Writes the owner references that are to change.
    pub(super) async fn write_owners(&mut self) -> Result<(), ReconcileError> {
        let Some(owners) = self.observed.changed_owners.take() else {
            return Ok(());
        };
        let result = status::set_owners(&self.ctx.client, &self.current, &owners).await;
        self.record_metadata(result)
    }

    fn record_metadata(
        &mut self,
        result: Result<Plugin, kube::Error>,
    ) -> Result<(), ReconcileError> {
        match result {
            Ok(plugin) => {
                self.record_write(plugin);
                Ok(())
            }
            // It changed or was deleted, which the watch reports.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {
                Err(ReconcileError::Superseded)
            }
            Err(error) => Err(ReconcileError::unreachable(READY, &error)),
        }
    }

    fn record_write(&mut self, mut plugin: Plugin) {
        status::keep_status_editors(&mut plugin.metadata);
        self.current = Arc::new(plugin);
        self.has_written = true;
    }

    /// Writes the pending status if it differs from the written one.
    pub(super) async fn write_status(&mut self) -> Result<(), kube::Error> {
        let written = status::write(
            &self.ctx.client,
            &self.observed.key,
            &self.current,
            &self.pending.status,
        )
        .await?;
        if let Some(plugin) = written {
            self.record_write(plugin);
            self.written_status = Some(self.pending.status.clone());
        }
        Ok(())
    }

    /// Clears `inputDigest` before the first write to the cluster, so that a crash cannot leave a stale status which
    /// claims that the release is up to date.
    pub(super) async fn invalidate_digest(&mut self) -> Result<(), ReconcileError> {
        self.pending.status.input_digest = None;
        let written = self.current.status.as_ref();
        if written.is_none_or(|status| status.input_digest.is_none()) {
            return Ok(());
        }
        match self.write_status().await {
            Ok(()) => Ok(()),
            // It changed or was deleted, which the watch reports.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {
                Err(ReconcileError::Superseded)
            }
            Err(error) => Err(ReconcileError::unreachable(READY, &error)),
        }
    }

    /// Completes when the plugin changes.
    pub(super) fn until_superseded(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut superseded = self.superseded.clone();
        async move {
            if superseded.wait_for(|is_true| *is_true).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Writes the status at the end of a reconcile, or defers it.
    pub(super) async fn persist_status(&mut self) {
        if !matches!(self.pending.status.phase, Phase::Pending) {
            self.pending.confirm_conditions();
        }
        if let Some(at) = self.deferred_until() {
            self.requeue_by(at);
            return;
        }
        self.emit_transition();
        match self.write_status().await {
            Ok(()) => self.retry.deferred_since = None,
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            // It changed, or was deleted and created anew.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.requeue_by(Instant::now() + self.ctx.options.backoff.initial);
            }
            Err(error) => {
                tracing::info!(plugin = %self.observed.key, %error, "failed to write plugin status");
                let retry_at = self.next_transient_retry();
                self.requeue_by(retry_at);
            }
        }
    }

    /// Until when the write is deferred, because the phase or its message will probably change soon.
    fn deferred_until(&mut self) -> Option<Instant> {
        let is_edited = self.observed.replaced.is_some();
        if self.is_write_due || is_edited || !status::is_deferrable(self.pending.status.phase) {
            return None;
        }
        if self.current.status.as_ref() == Some(&self.pending.status) {
            return None;
        }
        let now = Instant::now();
        let delay = self.ctx.options.status_delay;
        let is_same_phase =
            self.current.phase() == self.pending.status.phase && self.current.is_observed();
        let (since, delay) = if is_same_phase {
            (now, MESSAGE_DELAY_FACTOR * delay)
        } else {
            (self.retry.started_at.unwrap_or(now), delay)
        };
        let until = *self.retry.deferred_since.get_or_insert(since) + delay;
        (now < until).then_some(until)
    }

    /// Emits an event if the written phase or revision changes.
    fn emit_transition(&self) {
        let status = &self.pending.status;
        let found = self.observed.plugin.status.as_ref();
        let before = self.written_status.as_ref();
        let before = before.or(self.observed.replaced.as_ref()).or(found);
        let (phase_before, revision_before) = match before {
            Some(before) => (before.phase, before.revision),
            None => (Phase::Pending, None),
        };
        // A quick upgrade goes from Ready to Ready, with a new revision.
        if phase_before == status.phase && revision_before == status.revision {
            return;
        }
        let ready = conditions::find(&status.conditions, READY);
        let message = ready.map_or("", |ready| &*ready.message);
        let is_unhealthy =
            ready.is_some_and(|ready| ready.has_reason(&[Reason::Timeout, Reason::Unhealthy]));
        let version = status.version.as_deref().unwrap_or_default();
        let revision = status.revision.unwrap_or_default();
        // The spec changed, but not the release: a change that could not be deployed was reverted.
        let installed_before = before.map(|status| status.installed_generation);
        let is_adopted = revision_before.is_some()
            && revision_before == status.revision
            && installed_before != Some(status.installed_generation);
        let event = match (phase_before, status.phase) {
            (Phase::Degraded, Phase::Ready) if revision_before == status.revision => {
                PluginEvent::normal(EventReason::Recovered, "all objects are healthy")
            }
            (Phase::Waiting | Phase::Failed, Phase::Ready) if is_adopted => PluginEvent::normal(
                EventReason::Recovered,
                format!("revision {revision} is as specified, and all objects are healthy"),
            ),
            (_, Phase::Ready) if revision > 1 => PluginEvent::normal(
                EventReason::Upgraded,
                format!("version {version} is ready, revision {revision}"),
            ),
            (_, Phase::Ready) => PluginEvent::normal(
                EventReason::Installed,
                format!("version {version} is ready"),
            ),
            (Phase::Degraded, Phase::Degraded) | (Phase::Waiting, Phase::Waiting) => return,
            (_, Phase::Degraded) => PluginEvent::warning(EventReason::Degraded, message),
            // A failure has an event of its own.
            (_, Phase::Waiting) if self.failure.is_some() => return,
            (_, Phase::Waiting) => PluginEvent::normal(EventReason::Waiting, message),
            (_, Phase::Failed) if is_unhealthy => {
                PluginEvent::warning(EventReason::Failed, message)
            }
            _ => return,
        };
        self.emit(event);
    }
}
