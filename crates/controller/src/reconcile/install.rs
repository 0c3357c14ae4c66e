//! Installs, upgrades, and corrects drift.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outrigger_api::plugin::InventoryEntry;
use outrigger_api::reason::EventReason;

use super::Reconcile;
use crate::act::{self, Mode, Progress, RolledBack};
use crate::decide::{self, Action};
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::objects::release_record;
use crate::observe::ResolvedInputs;
use crate::observed::{AppliedObjects, InterruptedCorrection};
use crate::pods;
use crate::release_ref::ClusterRef;
use crate::sources::SourceContent;
use crate::watch_event::parse_resource_version;

/// How often the progress of an action is looked at. Doubles each time.
const FIRST_INTERVAL: Duration = Duration::from_secs(2);
const MAX_INTERVAL: Duration = Duration::from_mins(1);

/// How long the pods of a workload may take to be read.
const POD_TIMEOUT: Duration = Duration::from_secs(5);

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
            self.record_attempt(inputs, &progress);
        }
        match progress.rolled_back() {
            None if result.is_err() => {
                // The record lists all objects. The inventory lists those that exist.
                let mut applied = progress.take_applied();
                self.hide_secret_names(&mut applied);
                act::merge_inventory(&mut self.pending.status.inventory, applied);
            }
            None => {}
            Some(RolledBack::To(revision)) => {
                self.pending.status.revision = Some(i64::from(revision));
                self.pending.status.record_version = None;
            }
            Some(RolledBack::Uninstalled) => {
                let status = &mut self.pending.status;
                status.inventory.clear();
                (status.chart, status.version, status.app_version) = (None, None, None);
            }
        }
        let outcome = result?;
        let revision = outcome.revision;
        let deferred = act::deferred_cause(&outcome.deferred);
        self.record_outcome(inputs, Mode::Deploy, outcome);
        self.retry.failed_inputs = None;
        self.retry.retry_at = None;
        self.retry.transient_failures = 0;
        self.retry.drift_corrections = 0;
        self.pending.status.attempts = 0;
        self.pending.status.failed_digest = None;
        if revision == 1 {
            // Another tool uninstalled the release, so that this was no upgrade.
            self.pending.mark_started(false);
        }
        self.pending.mark_applied(revision);
        let corrected = self.retry.interrupted_correction.take();
        if let Some(corrected) = corrected.filter(|known| known.digest == inputs.digest) {
            self.emit_drift_corrected(&corrected.drifted);
        }
        if let Some(cause) = deferred {
            // The rest is applied once the kinds are defined.
            self.pending.status.input_digest = None;
            return Err(ReconcileError::Awaited(cause));
        }
        Ok(())
    }

    /// Reports what was rendered although it could not be applied and, if nothing was deployed before, of which chart.
    fn record_attempt(&mut self, inputs: &ResolvedInputs, progress: &Progress) {
        let Some(objects) = progress.rendered_objects() else {
            return;
        };
        self.pending.mark_rendered(objects);
        let status = &mut self.pending.status;
        if status.revision.is_some() {
            return;
        }
        if let SourceContent::Chart(fetched) = &inputs.content {
            let metadata = &fetched.chart.metadata;
            let app_version = &metadata.app_version;
            status.chart = Some(metadata.name.clone());
            status.version = Some(fetched.version.clone());
            status.app_version = (!app_version.is_empty()).then(|| app_version.clone());
        }
    }

    pub(super) async fn correct_drift(
        &mut self,
        inputs: &ResolvedInputs,
    ) -> Result<(), ReconcileError> {
        let drifted = self.observed.objects.drifted.join("; ");
        self.retry.drift_corrections += 1;
        self.retry.drift_corrected_at = Some(Instant::now());
        self.invalidate_digest().await?;
        self.retry.interrupted_correction = (!drifted.is_empty()).then(|| InterruptedCorrection {
            digest: inputs.digest.clone(),
            drifted: drifted.clone(),
        });
        let progress = self.progress();
        let outcome = self.apply(inputs, Mode::CorrectDrift, &progress).await?;
        self.retry.interrupted_correction = None;
        // What another tool deployed is replaced by a new revision, even if the objects are the same.
        let has_changed =
            outcome.changed > 0 || Some(outcome.revision) != self.observed.status.revision;
        let corrected = outcome.corrected.join("; ");
        self.record_outcome(inputs, Mode::CorrectDrift, outcome);
        if has_changed {
            let note = match (corrected.as_str(), drifted.as_str()) {
                ("", "") => "an object was modified right after it was applied",
                ("", drifted) => drifted,
                (corrected, _) => corrected,
            };
            self.emit_drift_corrected(note);
        }
        Ok(())
    }

    fn emit_drift_corrected(&self, note: &str) {
        let note = self.redactor.text(note);
        self.emit(PluginEvent::normal(EventReason::DriftCorrected, note));
    }

    /// Corrects drift of the deployed revision while the spec cannot be deployed: it waits, failed, or is rejected. The
    /// phase does not change.
    pub(super) async fn protect_deployed_revision(&mut self) {
        let backoff = self.ctx.options.backoff;
        let (plugin, status) = (&self.observed.plugin, &self.observed.status);
        let is_elsewhere = plugin.spec.cluster != status.cluster;
        let is_foreign = decide::foreign_owner(&self.observed).is_some();
        let is_unavailable = self.observed.unavailable.is_some();
        if status.revision.is_none() || is_elsewhere || is_foreign || is_unavailable {
            return;
        }
        if decide::is_rolled_back(status) {
            self.report_restored_health();
        }
        match decide::drift_action(&self.observed, &backoff) {
            Action::CorrectDrift if !self.observed.objects.drifted.is_empty() => {}
            Action::BackOff { until: Some(until) } => return self.requeue_by(until),
            _ => return,
        }
        self.retry.drift_corrections += 1;
        self.retry.drift_corrected_at = Some(Instant::now());
        let (ctx, plugin) = (Arc::clone(&self.ctx), Arc::clone(&self.observed.plugin));
        let (status, progress) = (self.observed.status.clone(), self.progress());
        let restored = act::restore(&ctx, &plugin, &status, &progress).await;
        match restored {
            Ok(Some(outcome)) => {
                if outcome.changed > 0 {
                    self.emit_drift_corrected(&self.observed.objects.drifted.join("; "));
                }
                self.record_applied(&outcome);
                self.pending.status.record_version = outcome.record_version;
                self.pending.status.inventory = outcome.inventory;
            }
            Ok(None) => {}
            Err(error) => {
                let error = self.redactor.error(error);
                tracing::info!(plugin = %self.observed.key, %error, "failed to correct drift");
                let message = format!("failed to correct drift: {error}");
                self.emit_failure(EventReason::Failed, &message);
                let retry_at = self.next_transient_retry();
                self.requeue_by(retry_at);
            }
        }
    }

    async fn apply(
        &mut self,
        inputs: &ResolvedInputs,
        mode: Mode,
        progress: &Progress,
    ) -> Result<act::Outcome, ReconcileError> {
        let (ctx, plugin) = (Arc::clone(&self.ctx), Arc::clone(&self.observed.plugin));
        let lineage = self.observed.lineage.clone();
        let lineage = (&lineage, &ctx.reservations);
        let action = act::apply(&ctx.options, &plugin, inputs, lineage, mode, progress);
        self.run_action(action, progress).await
    }

    /// Runs an action. Writes its progress to the status if it takes long, and stops it when the plugin changes.
    pub(super) async fn run_action<T>(
        &mut self,
        action: impl Future<Output = Result<T, ReconcileError>>,
        progress: &Progress,
    ) -> Result<T, ReconcileError> {
        let cluster = ClusterRef::of(&self.observed.plugin);
        let remote_slots = self.ctx.targets.remote_slots(&cluster);
        if remote_slots.is_some() {
            progress.free_slot();
        }
        let mut action = Box::pin(async move {
            let _slot = match &remote_slots {
                Some(slots) => slots.acquire().await.ok(),
                None => None,
            };
            action.await
        });
        let started_at = self.retry.started_at.unwrap_or_else(Instant::now);
        let mut due = started_at + self.ctx.options.status_delay;
        let mut interval = FIRST_INTERVAL;
        let mut superseded = Box::pin(self.until_superseded());
        loop {
            let message = Box::pin(async {
                tokio::time::sleep_until(due.into()).await;
                self.progress_message(&cluster, progress).await
            });
            let message = tokio::select! {
                biased;
                result = &mut action => return result,
                () = &mut superseded => return Err(ReconcileError::Superseded),
                message = message => message,
            };
            Box::pin(self.write_progress(&message, progress)).await;
            due = Instant::now() + interval;
            interval = (2 * interval).min(MAX_INTERVAL);
        }
    }

    /// What an action currently does. If it waits for a workload, with the reason of its pods.
    async fn progress_message(&self, cluster: &ClusterRef, progress: &Progress) -> String {
        let message = progress.message().unwrap_or_default();
        let awaited = progress.awaited().filter(pods::is_workload);
        let reason = async {
            let client = self.ctx.targets.watch_client(cluster).await?;
            pods::reason(&client, &awaited?).await.ok()?
        };
        let reason = tokio::time::timeout(POD_TIMEOUT, reason).await;
        match reason.ok().flatten() {
            Some(reason) => self.redactor.text(&format!("{message}: {}", reason.text)),
            None => self.redactor.text(&message),
        }
    }

    /// Writes the progress of an action, if it changed.
    async fn write_progress(&mut self, message: &str, progress: &Progress) {
        if let Some(objects) = progress.rendered_objects() {
            self.pending.mark_rendered(objects);
        }
        self.pending.set_progress(message);
        if progress.awaited().is_some() {
            self.pending.mark_progressing(message);
        }
        if self.current.status.as_ref() == Some(&self.pending.status) {
            return;
        }
        if let Err(error) = self.write_status().await {
            tracing::debug!(%error, "failed to write progress status");
        }
    }

    /// Removes objects whose names contain a value from a Secret: everyone who may read plugins reads the inventory. The
    /// release record, which is a Secret, lists them for the removal. Returns their number.
    fn hide_secret_names(&self, inventory: &mut Vec<InventoryEntry>) -> usize {
        let all = inventory.len();
        let release = self.observed.plugin.release_name();
        let names: Vec<&str> = inventory.iter().map(|entry| entry.name.as_str()).collect();
        let mut secret = self.redactor.secret_names(&names, release).into_iter();
        inventory.retain(|_| secret.next() != Some(true));
        all - inventory.len()
    }

    fn record_outcome(&mut self, inputs: &ResolvedInputs, mode: Mode, mut outcome: act::Outcome) {
        let hidden = self.hide_secret_names(&mut outcome.inventory);
        if hidden > 0 {
            let (objects, names) = match hidden {
                1 => ("1 object is".to_owned(), "its name contains"),
                count => (format!("{count} objects are"), "their names contain"),
            };
            outcome.warnings.push(format!(
                "{objects} not listed and not watched, because {names} a value from a Secret"
            ));
        }
        if !outcome.warnings.is_empty() {
            let warnings = self.redactor.text(&outcome.warnings.join("; "));
            self.emit(PluginEvent::warning(EventReason::InstallWarnings, warnings));
        }
        self.record_applied(&outcome);
        for child in &self.observed.objects.modified_children {
            // What a user changed was left alone, and is still reported.
            let mut inventory = outcome.inventory.iter_mut();
            let entry = inventory.find(|entry| is_same_object(entry, child));
            if let Some(entry) = entry.filter(|_| mode == Mode::CorrectDrift) {
                entry.fields.clone_from(&child.fields);
            }
        }
        let plugin = &self.observed.plugin;
        self.pending.mark_rendered(outcome.inventory.len());
        let status = &mut self.pending.status;
        status.input_digest = Some(inputs.digest.clone());
        status.installed_generation = plugin.metadata.generation;
        status.inventory = outcome.inventory;
        status.revision = Some(outcome.revision);
        status.record_version = outcome.record_version;
        status.namespace = Some(plugin.release_namespace().to_owned());
        status.release_name = Some(plugin.release_name().to_owned());
        status.kind = Some(plugin.spec.kind);
        status.cluster.clone_from(&plugin.spec.cluster);
        status.chart = outcome.chart;
        status.version = outcome.version;
        status.app_version = outcome.app_version;
        status.chart_digest = inputs.content.digest().map(str::to_owned);
        status.notes = outcome.notes.map(|notes| self.redactor.text(&notes));
        // The health of the applied objects is assessed once the watches have reported them.
        self.requeue_at = Some(Instant::now());
    }

    /// Remembers what was applied until the watches have reported it.
    fn record_applied(&mut self, outcome: &act::Outcome) {
        let plugin = &self.observed.plugin;
        let (namespace, release) = (plugin.release_namespace(), plugin.release_name());
        let record = release_record(namespace, release, outcome.revision);
        let mut resource_versions = outcome.resource_versions.clone();
        let version = outcome.record_version.as_deref();
        resource_versions.insert(
            record,
            version.map_or(0, |version| parse_resource_version(Some(version))),
        );
        let applied = AppliedObjects {
            at: Instant::now(),
            resource_versions,
        };
        self.retry.just_applied = Some(Arc::new(applied.clone()));
        self.retry.applied = Some(applied);
    }
}

fn is_same_object(a: &InventoryEntry, b: &InventoryEntry) -> bool {
    (&a.api_version, &a.kind, &a.namespace, &a.name)
        == (&b.api_version, &b.kind, &b.namespace, &b.name)
}
