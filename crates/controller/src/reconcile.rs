//! Reconciles one plugin: decide, resolve the inputs, act, write the status.

mod failure;
mod health;
mod install;
mod persist;
mod pod_reasons;
mod removal;
mod report;
mod verdict;

use std::sync::Arc;
use std::time::Instant;

use outrigger_api::annotation::RECONCILE;
use outrigger_api::plugin::{Phase, Plugin, PluginStatus};
use outrigger_api::reason::Reason;
use tokio::sync::watch;

use crate::act::Progress;
use crate::conditions::{self, Cause, READY};
use crate::context::Context;
use crate::decide::{self, Action, Decision};
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::lifecycle::is_superseded;
use crate::metrics::ReconcileResult;
use crate::observe::{AwaitedInput, ResolvedInputs};
use crate::observed::{CachedDigest, Observed, RetryState};
use crate::pending_status::PendingStatus;
use crate::redact::Redactor;
use crate::references::ReadVersions;
use crate::resolution::Resolution;

/// The result of a reconcile.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The plugin as it was at the start.
    pub(crate) reconciled: Arc<Plugin>,
    /// The plugin after the last write, if there was one.
    pub(crate) written: Option<Box<Plugin>>,
    /// The status that was written last, if one was.
    pub(crate) written_status: Option<PluginStatus>,
    /// Whether the written plugin has a spec or annotations that this reconcile does not know.
    pub(crate) is_superseded: bool,
    pub(crate) status: PluginStatus,
    /// Whether the status is the written one.
    pub(crate) is_written: bool,
    pub(crate) retry: RetryState,
    pub(crate) requeue_at: Option<Instant>,
    /// The references that were read, if the inputs were resolved.
    pub(crate) read: Option<ReadVersions>,
}

/// A reconcile in progress.
struct Reconcile {
    ctx: Arc<Context>,
    observed: Observed,
    pending: PendingStatus,
    retry: RetryState,
    /// The plugin on the server, as far as known.
    current: Arc<Plugin>,
    has_written: bool,
    written_status: Option<PluginStatus>,
    requeue_at: Option<Instant>,
    read: Option<ReadVersions>,
    /// The digest of the inputs that are being installed.
    attempted_inputs: Option<String>,
    /// Whether the status must be written now, even if the phase is deferrable.
    is_write_due: bool,
    /// Removes values that come from Secrets from messages.
    redactor: Redactor,
    /// How the reconcile failed, if it did.
    failure: Option<ReconcileResult>,
    /// Becomes true when the plugin changes.
    superseded: watch::Receiver<bool>,
}

/// Reconciles a plugin.
pub(crate) async fn run(
    ctx: Arc<Context>,
    observed: Observed,
    superseded: watch::Receiver<bool>,
) -> Outcome {
    let now = (ctx.options.now)();
    let started_at = Instant::now();
    let known = observed.retry.redactor.clone();
    let redactor = known.unwrap_or_else(|| Redactor::unresolved(&observed.plugin));
    let mut reconcile = Reconcile {
        pending: PendingStatus::new(&observed, now, redactor.clone()),
        retry: observed.retry.clone(),
        current: Arc::clone(&observed.plugin),
        has_written: false,
        written_status: None,
        requeue_at: None,
        read: None,
        attempted_inputs: None,
        is_write_due: false,
        redactor,
        failure: None,
        superseded,
        ctx,
        observed,
    };
    reconcile.explain_unhealthy_workloads().await;
    let is_released = reconcile.execute().await;
    if !is_released {
        reconcile.record_verdict().await;
        reconcile.persist_status().await;
    }
    reconcile.forget_reported_failures();
    reconcile.report(is_released, started_at.elapsed());
    reconcile.finish(is_released)
}

impl Reconcile {
    /// Returns whether the deleted plugin was released, so that there is no status to write.
    async fn execute(&mut self) -> bool {
        self.start_requested_reconcile();
        let decision = decide::decision(&self.observed);
        tracing::debug!(plugin = %self.observed.key, ?decision, "decided");
        if !matches!(decision, Decision::BlockRemoval { .. }) {
            self.pending.clear_removal_blocked();
        }
        if !matches!(decision, Decision::ResolveInputs { .. }) {
            self.ctx.resolutions.cancel(&self.observed.key);
        }
        if let Err(error) = self.write_owners().await {
            self.record_error(error);
            return false;
        }
        match decision {
            Decision::Ignore => return true,
            Decision::Disabled => self.pending.mark_disabled(),
            Decision::Uninstall { force } => return self.remove(force).await,
            Decision::Disown { owner } => return self.disown(&owner).await,
            Decision::LeaveRelease => return self.leave_release().await,
            Decision::BlockRemoval { cause, cascade } => {
                self.block_removal(&cause, &cascade).await;
            }
            Decision::Reject(cause) => {
                self.report_dependencies();
                self.reject(&cause);
                self.protect_deployed_revision().await;
            }
            Decision::AwaitCluster(cause) => {
                self.report_dependencies();
                self.pending.mark_waiting(&cause);
            }
            Decision::Suspended => self.mark_suspended(),
            Decision::Wait(cause) => {
                self.pending.set_dependencies(Some(&cause), true);
                self.pending.mark_waiting(&cause);
            }
            Decision::ResolveInputs { blocked } => {
                if let Err(error) = Box::pin(self.converge(blocked.as_ref())).await {
                    self.record_error(error);
                }
                if self.has_only_waited() {
                    Box::pin(self.protect_deployed_revision()).await;
                }
            }
        }
        false
    }

    fn report_dependencies(&mut self) {
        let has_dependencies = !self.observed.dependencies.is_empty();
        let unmet = decide::unmet_dependencies(&self.observed);
        self.pending
            .set_dependencies(unmet.as_ref(), has_dependencies);
    }

    /// Whether the plugin waits or failed, and this reconcile left its release alone.
    fn has_only_waited(&self) -> bool {
        matches!(self.pending.status.phase, Phase::Waiting | Phase::Failed)
            && self.attempted_inputs.is_none()
            && self.retry.drift_corrections == self.observed.retry.drift_corrections
            && !*self.superseded.borrow()
    }

    /// Forgets earlier failures and cached inputs if a reconcile was requested.
    fn start_requested_reconcile(&mut self) {
        let annotations = self.observed.plugin.metadata.annotations.as_ref();
        let requested = annotations.and_then(|annotations| annotations.get(RECONCILE));
        let Some(requested) = requested.cloned() else {
            return;
        };
        if self.observed.status.reconcile_handled.as_ref() == Some(&requested) {
            return;
        }
        if self.retry.reconcile_request.as_ref() != Some(&requested) {
            self.ctx.sources.fetcher.refresh();
            self.ctx.resolutions.cancel(&self.observed.key);
            let started_at = self.retry.started_at;
            self.retry = RetryState {
                started_at,
                applied: self.retry.applied.take(),
                redactor: self.retry.redactor.take(),
                reconcile_request: Some(requested),
                ..RetryState::default()
            };
            self.observed.retry = self.retry.clone();
            self.observed.status.attempts = 0;
            self.pending.status.attempts = 0;
        }
    }

    /// Records that the requested reconcile is done: its inputs were resolved, or it needs none.
    fn finish_requested_reconcile(&mut self) {
        if let Some(requested) = self.retry.reconcile_request.take() {
            self.pending.status.reconcile_handled = Some(requested);
        }
    }

    fn mark_suspended(&mut self) {
        self.finish_requested_reconcile();
        let plugin = &self.observed.plugin;
        let resume = format!(
            "`outrigger plugin resume {} -n {}` continues",
            plugin.name(),
            plugin.namespace()
        );
        if self.is_installed_as_specified() {
            self.update_health();
            let message = format!("plugin is suspended; {resume}");
            self.pending
                .annotate_phase(&Cause::new(Reason::Suspended, message));
            return;
        }
        let awaited = if plugin.spec.enabled {
            "the changes are not applied"
        } else {
            "the release is not removed"
        };
        let message = format!("plugin is suspended, and {awaited}; {resume}");
        self.pending
            .mark_waiting(&Cause::new(Reason::Suspended, message));
    }

    /// Brings the release up to date with the inputs. Does not fetch the inputs if that cannot change anything.
    async fn converge(&mut self, blocked: Option<&Cause>) -> Result<(), ReconcileError> {
        let has_dependencies = !self.observed.plugin.spec.dependencies.is_empty();
        self.pending.set_dependencies(blocked, has_dependencies);
        let backoff = self.ctx.options.backoff;
        if let Some(digest) = self.cached_digest() {
            let action = decide::action(&self.observed, &digest, blocked, &backoff);
            if let Action::None | Action::BackOff { .. } | Action::Wait(_) = action {
                self.keep_release(action);
                return Ok(());
            }
        } else if let Some(action) = decide::back_off_resolving(&self.observed) {
            self.keep_release(action);
            return Ok(());
        }
        let inputs = match self.resolve_inputs().await? {
            Ok(inputs) => inputs,
            Err(awaited) => {
                self.wait_for_inputs(awaited);
                return Ok(());
            }
        };
        match decide::action(&self.observed, &inputs.digest, blocked, &backoff) {
            Action::Install => Box::pin(self.install(&inputs, false)).await,
            Action::Upgrade => Box::pin(self.install(&inputs, true)).await,
            Action::CorrectDrift => Box::pin(self.correct_drift(&inputs)).await,
            action => {
                self.keep_release(action);
                Ok(())
            }
        }
    }

    /// The cached input digest, if nothing that it covers has changed.
    fn cached_digest(&self) -> Option<String> {
        let observed = &self.observed;
        let cached = observed.retry.cached_digest.as_ref()?;
        let age = observed.now.duration_since(cached.computed_at);
        let is_valid = observed.are_references_current
            && age < self.ctx.options.resync_period
            && cached.generation == observed.plugin.metadata.generation
            && cached.image_registry == self.ctx.image_registry(&observed.plugin);
        is_valid.then(|| cached.digest.clone())
    }

    /// The inputs, or what they wait for.
    async fn resolve_inputs(
        &mut self,
    ) -> Result<Result<ResolvedInputs, AwaitedInput>, ReconcileError> {
        let plugin = Arc::clone(&self.observed.plugin);
        let resolutions = &self.ctx.resolutions;
        let resolution = resolutions.resolve(&self.ctx, &self.observed.key, &plugin);
        let resolved = match resolution.await {
            Resolution::Resolved(resolved) => resolved,
            Resolution::Pending(awaited) => return Ok(Err(awaited)),
        };
        self.finish_requested_reconcile();
        self.read = Some(resolved.read);
        // Until the inputs are resolved again, those that are installed are not the current ones.
        self.retry.cached_digest = None;
        let inputs = resolved.inputs?;
        self.redactor = inputs.redactor.clone().with_earlier(&self.redactor);
        self.retry.redactor = Some(self.redactor.clone());
        self.pending.set_redactor(self.redactor.clone());
        self.pending.mark_fetched(inputs.content.version());
        self.retry.cached_digest = Some(CachedDigest {
            generation: plugin.metadata.generation,
            image_registry: inputs.image_registry.clone(),
            digest: inputs.digest.clone(),
            computed_at: Instant::now(),
        });
        Ok(Ok(inputs))
    }

    /// Reports what the inputs wait for. The plugin is reconciled again once they are resolved.
    fn wait_for_inputs(&mut self, awaited: AwaitedInput) {
        if self.is_installed_as_specified() {
            self.update_health();
            return;
        }
        match awaited {
            AwaitedInput::Source(source) => {
                self.wait_for_source(format!("waiting for {source} to answer"));
            }
            AwaitedInput::Turn { source, requests } => self.wait_for_source(format!(
                "waiting for its turn to ask {source}: {requests} are in progress"
            )),
            AwaitedInput::Index(source) => self.wait_for_source(format!(
                "waiting for the index of {source}, which is already being fetched"
            )),
            AwaitedInput::Cluster(cluster) => {
                let message = format!("waiting for {cluster} to answer");
                self.pending
                    .mark_waiting(&Cause::new(Reason::Connecting, message));
            }
            AwaitedInput::Values(source) => {
                let message = format!("waiting for {source} to be read");
                self.pending
                    .mark_waiting(&Cause::new(Reason::ReadingValues, message));
            }
        }
    }

    fn wait_for_source(&mut self, message: String) {
        let cause = Cause::new(Reason::Fetching, message);
        self.pending.mark_unfetched(&cause);
        self.pending.mark_waiting(&cause);
    }

    /// Whether the current generation was installed. Its inputs may have changed since.
    fn is_installed_as_specified(&self) -> bool {
        let status = &self.observed.status;
        status.revision.is_some()
            && status.input_digest.is_some()
            && status.installed_generation == self.observed.plugin.metadata.generation
    }

    fn mark_installed_as_specified(&mut self) {
        let generation = self.observed.plugin.metadata.generation;
        self.pending.status.installed_generation = generation;
    }

    /// Leaves the release as it is. The phase follows its health, unless other inputs are due.
    fn keep_release(&mut self, action: Action) {
        match action {
            Action::Wait(cause) => self.pending.mark_waiting(&cause),
            Action::BackOff { until } => {
                self.requeue_at = until;
                let cached = self.retry.cached_digest.as_ref();
                let digest = cached.map(|cached| &cached.digest);
                if digest.is_some() && digest == self.observed.status.input_digest.as_ref() {
                    self.mark_installed_as_specified();
                    self.update_health();
                } else {
                    self.pending.restore_failure();
                }
            }
            _ => {
                self.mark_installed_as_specified();
                self.update_health();
            }
        }
    }

    /// Whether the observed status already reports this reason.
    fn is_reported(&self, reason: Reason) -> bool {
        let ready = conditions::find(&self.observed.status.conditions, READY);
        ready.is_some_and(|ready| ready.reason == reason)
    }

    fn emit(&self, mut event: PluginEvent) {
        event.note = self.redactor.known(&event.note);
        self.ctx.recorder.emit(self.current.as_ref(), event);
    }

    fn progress(&self) -> Progress {
        Progress::new(self.observed.key.clone(), self.ctx.events.clone())
    }

    /// Requeues at a time, unless an earlier one is set.
    fn requeue_by(&mut self, at: Instant) {
        self.requeue_at = Some(self.requeue_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn finish(self, is_released: bool) -> Outcome {
        let is_written = is_released || self.current.status.as_ref() == Some(&self.pending.status);
        let reconciled = &self.observed.plugin;
        let is_superseded = is_superseded(reconciled, &self.current)
            || reconciled.metadata.annotations != self.current.metadata.annotations;
        Outcome {
            reconciled: Arc::clone(reconciled),
            is_superseded,
            written_status: self.written_status,
            written: self
                .has_written
                .then(|| Box::new(Plugin::clone(&self.current))),
            status: self.pending.status,
            is_written,
            retry: self.retry,
            requeue_at: self.requeue_at,
            read: self.read,
        }
    }
}
