//! Uninstalls the release of a deleted or disabled plugin, then releases the plugin from our finalizer.
//!
//! A plugin can always be removed: by force, and if its cluster no longer exists.

use std::sync::Arc;
use std::time::Instant;

use outrigger_api::annotation::FORCE;
use outrigger_api::plugin::Plugin;
use outrigger_api::reason::EventReason;
use outrigger_release::{KeptObject, ObjectId};

use super::Reconcile;
use crate::act;
use crate::conditions::Cause;
use crate::error::ReconcileError;
use crate::events::PluginEvent;
use crate::key::Key;
use crate::lifecycle::is_deleted;
use crate::observed::{RetryState, object_text};
use crate::redact::Redactor;

impl Reconcile {
    /// Returns whether the deleted plugin was released.
    pub(super) async fn remove(&mut self, force: bool) -> bool {
        self.retry.started_at.get_or_insert_with(Instant::now);
        self.pending.mark_removing("");
        // Unlike a deletion, disabling can be reverted, and the status must not claim that the release is installed.
        if !is_deleted(&self.current)
            && let Err(error) = self.invalidate_digest().await
        {
            self.record_error(error);
            return false;
        }
        let objects = act::inventory_summary(&self.observed.status.inventory);
        let uninstalled = self.uninstall(force).await;
        let event = match uninstalled.map_err(|error| self.redactor.error(error)) {
            Ok(kept) => PluginEvent::normal(
                EventReason::Removed,
                removed_message(&self.observed.plugin, &kept, &self.redactor),
            ),
            Err(ReconcileError::Superseded) => {
                self.record_error(ReconcileError::Superseded);
                return false;
            }
            // The kubeconfig of the cluster no longer exists, so nothing can be uninstalled.
            Err(ReconcileError::Wait(cause)) => PluginEvent::warning(
                EventReason::Orphaned,
                format!("{}; objects left behind: {objects}", cause.message),
            ),
            Err(error) if force => PluginEvent::warning(
                EventReason::Orphaned,
                format!("removed by force; objects possibly left behind: {objects} ({error})"),
            ),
            Err(error) => {
                self.retry_removal(&error);
                return false;
            }
        };
        self.release_plugin(event).await
    }

    /// Releases the plugin without uninstalling the release. Returns whether the plugin was deleted.
    pub(super) async fn disown(&mut self, owner: &Key) -> bool {
        let message = format!("the release belongs to plugin {owner} and stays installed");
        self.release_plugin(PluginEvent::normal(EventReason::Removed, message))
            .await
    }

    /// Releases a suspended plugin without uninstalling the release. Returns whether the plugin was deleted.
    pub(super) async fn leave_release(&mut self) -> bool {
        let objects = act::inventory_summary(&self.observed.status.inventory);
        let message =
            format!("the plugin was suspended, so its release stays installed: {objects}");
        self.release_plugin(PluginEvent::warning(EventReason::Orphaned, message))
            .await
    }

    /// Returns the objects that were kept.
    async fn uninstall(&mut self, force: bool) -> Result<Vec<KeptObject>, ReconcileError> {
        let (ctx, plugin) = (Arc::clone(&self.ctx), Arc::clone(&self.observed.plugin));
        let status = self.observed.status.clone();
        let progress = self.progress();
        let action = act::uninstall(&ctx, &plugin, &status, force, &progress);
        self.run_action(action, &progress).await
    }

    /// Removes the finalizer. Returns whether the plugin was deleted, as opposed to disabled.
    async fn release_plugin(&mut self, event: PluginEvent) -> bool {
        let is_deleted = is_deleted(&self.current);
        self.emit(event);
        if let Err(error) = self.write_finalizer(false).await {
            self.record_error(error);
            return false;
        }
        self.retry = RetryState::default();
        self.pending.mark_disabled();
        is_deleted
    }

    /// Removal is retried without limit, with backoff.
    fn retry_removal(&mut self, error: &ReconcileError) {
        let retry_at = self.next_transient_retry();
        self.requeue_by(retry_at);
        self.emit_failure(EventReason::RemovalFailed, &error.to_string());
        let message = format!(
            "{error}; retrying; annotate it with {FORCE}=true to remove it without waiting"
        );
        self.pending.mark_removing(&message);
        self.is_write_due = true;
    }

    /// Reports why the removal is blocked, and requests the removal of the `cascade` plugins.
    pub(super) async fn block_removal(&mut self, cause: &Cause, cascade: &[Key]) {
        if !self.is_reported(cause.reason) {
            self.emit(PluginEvent::warning(
                EventReason::RemovalBlocked,
                cause.message.clone(),
            ));
        }
        self.pending.mark_removal_blocked(cause);
        let is_deleted = is_deleted(&self.observed.plugin);
        if let Err(error) = act::cascade(&self.ctx.client, cascade, is_deleted).await {
            self.record_error(error);
        }
    }
}

fn id_text(id: &ObjectId) -> String {
    object_text(&id.kind, id.namespace.as_deref(), &id.name)
}

/// Says what was removed and names what was not.
fn removed_message(plugin: &Plugin, kept: &[KeptObject], redactor: &Redactor) -> String {
    let message = "the release was uninstalled";
    let kept = kept
        .iter()
        // Its namespace stays in any case: the plugin is in it.
        .filter(|kept| kept.object.kind != "Namespace" || !plugin.is_in_release_namespace())
        .map(|kept| format!("{} ({})", id_text(&kept.object), kept.reason));
    let kept: Vec<String> = kept.collect();
    if kept.is_empty() {
        return message.to_owned();
    }
    format!("{message}; kept: {}", redactor.text(&kept.join(", ")))
}
