//! Reconciles one plugin: decide, resolve the inputs, act, write the status.

mod failure;
mod health;
mod install;
mod persist;
mod removal;

use std::sync::Arc;
use std::time::Instant;

use outrigger_api::plugin::{Plugin, PluginStatus};
use tokio::sync::watch;

use crate::act::Progress;
use crate::conditions::{self, Cause, READY};
use crate::context::Context;
use crate::decide::{self, Action, Decision};
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::observe::{self, ResolvedInputs};
use crate::observed::{CachedDigest, Observed, RetryState};
use crate::pending_status::PendingStatus;
use crate::references::ReadVersions;

/// The result of a reconcile.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The plugin after the last write, if there was one.
    pub(crate) written: Option<Box<Plugin>>,
    /// A status that differs from the written one.
    pub(crate) unwritten: Option<PluginStatus>,
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
    requeue_at: Option<Instant>,
    read: Option<ReadVersions>,
    /// The digest of the inputs that are being installed.
    attempted_inputs: Option<String>,
    /// Whether the status must be written now, even if the phase is deferrable.
    is_write_due: bool,
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
    let mut reconcile = Reconcile {
        pending: PendingStatus::new(&observed, now),
        retry: observed.retry.clone(),
        current: Arc::clone(&observed.plugin),
        has_written: false,
        requeue_at: None,
        read: None,
        attempted_inputs: None,
        is_write_due: false,
        superseded,
        ctx,
        observed,
    };
    let is_released = reconcile.execute().await;
    if !is_released {
        reconcile.persist_status().await;
    }
    reconcile.finish(is_released)
}

impl Reconcile {
    /// Returns whether the deleted plugin was released, so that there is no status to write.
    async fn execute(&mut self) -> bool {
        let decision = decide::decision(&self.observed);
        tracing::debug!(plugin = %self.observed.key, ?decision, "decided");
        if !matches!(decision, Decision::BlockRemoval { .. }) {
            self.pending.clear_removal_blocked();
        }
        match decision {
            Decision::Ignore => return true,
            Decision::Disabled => self.pending.mark_disabled(),
            Decision::Uninstall { force } => return self.remove(force).await,
            Decision::Disown { owner } => return self.disown(&owner).await,
            Decision::BlockRemoval { cause, cascade } => {
                self.block_removal(&cause, &cascade).await;
            }
            Decision::Reject(cause) => self.reject(&cause),
            Decision::Wait(cause) => {
                self.pending.set_dependencies(Some(&cause), true);
                self.pending.mark_waiting(&cause);
            }
            Decision::ResolveInputs { blocked } => {
                if let Err(error) = self.converge(blocked.as_ref()).await {
                    self.record_error(error);
                }
            }
        }
        false
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
        let inputs = self.resolve_inputs().await?;
        match decide::action(&self.observed, &inputs.digest, blocked, &backoff) {
            Action::Install => self.install(&inputs, false).await,
            Action::Upgrade => self.install(&inputs, true).await,
            Action::CorrectDrift => self.correct_drift(&inputs).await,
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

    async fn resolve_inputs(&mut self) -> Result<ResolvedInputs, ReconcileError> {
        let mut read = ReadVersions::new();
        let plugin = Arc::clone(&self.observed.plugin);
        let inputs = observe::resolve_inputs(&self.ctx, &plugin, &mut read).await;
        self.read = Some(read);
        let inputs = inputs?;
        self.pending.mark_fetched(inputs.content.version());
        self.retry.cached_digest = Some(CachedDigest {
            generation: plugin.metadata.generation,
            image_registry: inputs.image_registry.clone(),
            digest: inputs.digest.clone(),
            computed_at: Instant::now(),
        });
        Ok(inputs)
    }

    /// Leaves the release as it is. The phase follows its health, unless other inputs are due.
    fn keep_release(&mut self, action: Action) {
        match action {
            Action::Wait(cause) => self.pending.mark_waiting(&cause),
            Action::BackOff { until } => {
                self.requeue_at = until;
                let cached = self.retry.cached_digest.as_ref();
                let digest = cached.map(|cached| &cached.digest);
                if digest == self.observed.status.input_digest.as_ref() {
                    self.update_health();
                }
            }
            _ => self.update_health(),
        }
    }

    /// Whether the observed status already reports this reason.
    fn is_reported(&self, reason: &str) -> bool {
        let ready = conditions::find(&self.observed.status.conditions, READY);
        ready.is_some_and(|ready| ready.reason == reason)
    }

    fn emit(&self, event: PluginEvent) {
        self.ctx.recorder.emit(&self.current, event);
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
        Outcome {
            written: self
                .has_written
                .then(|| Box::new(Plugin::clone(&self.current))),
            unwritten: (!is_written).then_some(self.pending.status),
            retry: self.retry,
            requeue_at: self.requeue_at,
            read: self.read,
        }
    }
}
