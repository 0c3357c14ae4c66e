//! Installs, upgrades, and corrects drift.

use std::sync::Arc;
use std::time::Instant;

use super::Reconcile;
use crate::act::{self, Mode, Progress};
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::observe::ResolvedInputs;
use crate::observed::AppliedObjects;

impl Reconcile {
    pub(super) async fn install(
        &mut self,
        inputs: &ResolvedInputs,
        is_upgrade: bool,
    ) -> Result<(), ReconcileError> {
        self.attempted_inputs = Some(inputs.digest.clone());
        self.retry.started_at = Some(Instant::now());
        self.add_finalizer().await?;
        self.pending.mark_started(is_upgrade);
        self.invalidate_digest().await?;
        let progress = self.progress();
        let result = self.apply(inputs, Mode::Deploy, &progress).await;
        if result.is_err() {
            // Some of the planned objects may have been applied.
            let inventory = &mut self.pending.status.inventory;
            act::merge_inventory(inventory, progress.take_planned());
        }
        let outcome = result?;
        let revision = outcome.revision;
        self.record_outcome(inputs, outcome);
        self.retry.failed_inputs = None;
        self.retry.retry_at = None;
        self.retry.transient_failures = 0;
        self.retry.drift_corrections = 0;
        self.pending.status.attempts = 0;
        self.pending.mark_applied(revision);
        Ok(())
    }

    pub(super) async fn correct_drift(
        &mut self,
        inputs: &ResolvedInputs,
    ) -> Result<(), ReconcileError> {
        let drifted = self.observed.objects.drifted.join("; ");
        self.retry.drift_corrections += 1;
        self.retry.drift_corrected_at = Some(Instant::now());
        self.invalidate_digest().await?;
        let progress = self.progress();
        let outcome = self.apply(inputs, Mode::CorrectDrift, &progress).await?;
        self.record_outcome(inputs, outcome);
        self.emit(PluginEvent::normal("DriftCorrected", drifted));
        Ok(())
    }

    async fn apply(
        &mut self,
        inputs: &ResolvedInputs,
        mode: Mode,
        progress: &Progress,
    ) -> Result<act::Outcome, ReconcileError> {
        let (ctx, plugin) = (Arc::clone(&self.ctx), Arc::clone(&self.observed.plugin));
        let action = act::apply(&ctx.options, &plugin, inputs, mode, progress);
        self.run_action(Box::pin(action), progress).await
    }

    /// Runs an action. Writes its progress to the status if it takes long, and stops it when the plugin changes.
    pub(super) async fn run_action<T>(
        &mut self,
        mut action: impl Future<Output = Result<T, ReconcileError>> + Unpin,
        progress: &Progress,
    ) -> Result<T, ReconcileError> {
        let started_at = self.retry.started_at.unwrap_or_else(Instant::now);
        let status_due =
            tokio::time::sleep_until((started_at + self.ctx.options.status_delay).into());
        let mut superseded = Box::pin(self.until_superseded());
        tokio::select! {
            biased;
            result = &mut action => return result,
            () = &mut superseded => return Err(ReconcileError::Superseded),
            () = status_due => {}
        }
        if let Some(objects) = progress.rendered_objects() {
            self.pending.mark_rendered(objects);
        }
        if let Some(message) = progress.message() {
            self.pending.set_progress(&message);
        }
        if let Err(error) = self.write_status().await {
            tracing::debug!(%error, "failed to write progress status");
        }
        tokio::select! {
            biased;
            result = &mut action => result,
            () = &mut superseded => Err(ReconcileError::Superseded),
        }
    }

    fn record_outcome(&mut self, inputs: &ResolvedInputs, outcome: act::Outcome) {
        let plugin = &self.observed.plugin;
        self.retry.applied = Some(AppliedObjects {
            at: Instant::now(),
            resource_versions: outcome.resource_versions,
        });
        self.pending.mark_rendered(outcome.inventory.len());
        let status = &mut self.pending.status;
        status.input_digest = Some(inputs.digest.clone());
        status.inventory = outcome.inventory;
        status.revision = Some(outcome.revision);
        status.namespace = Some(plugin.release_namespace().to_owned());
        status.release_name = Some(plugin.release_name().to_owned());
        status.kind = Some(plugin.spec.kind);
        status.cluster.clone_from(&plugin.spec.cluster);
        status.version = outcome.version;
        status.app_version = outcome.app_version;
        status.chart_digest = inputs.content.digest().map(str::to_owned);
        status.notes = outcome.notes;
        // The health of the applied objects is assessed once the watches have reported them.
        self.requeue_at = Some(Instant::now());
    }
}
