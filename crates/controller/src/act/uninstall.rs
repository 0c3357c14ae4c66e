//! Uninstalls the release of a plugin, and requests the removal of its dependents.

use std::time::Duration;

use kube::api::{DeleteParams, Patch};
use kube::{Api, Client};
use outrigger_api::annotation::CASCADE;
use outrigger_api::plugin::{Plugin, PluginStatus};
use outrigger_api::reason::Reason;
use outrigger_release::{ActionError, KeptObject, ObjectId, ReleaseId};
use serde_json::json;

use super::{Progress, inventory, options_without_rules, release_id};
use crate::conditions::{Cause, READY};
use crate::context::Context;
use crate::error::{self, ReconcileError};
use crate::key::Key;
use crate::status::{FIELD_MANAGER, patch_params};

/// How long a forced removal tries to delete objects.
const FORCED_TIMEOUT: Duration = Duration::from_secs(10);

/// Deletes everything that the release of a plugin installed, and everything in its inventory. Returns what was kept.
pub(crate) async fn uninstall(
    ctx: &Context,
    plugin: &Plugin,
    status: &PluginStatus,
    force: bool,
    progress: &Progress,
) -> Result<Vec<KeptObject>, ReconcileError> {
    let target = ctx.targets.resolve(plugin).await?;
    let mut options = options_without_rules(&ctx.options, plugin)?;
    options.wait = true;
    let inventory: Vec<ObjectId> = status.inventory.iter().map(inventory::object_id).collect();
    let id = installed_release(plugin, status);
    let report = |event| progress.update(event);
    let uninstall =
        outrigger_release::uninstall(&target.cluster, &id, &inventory, &options, &report);
    let outcome = if force {
        let result = tokio::time::timeout(FORCED_TIMEOUT, uninstall).await;
        result.unwrap_or(Err(ActionError::TimedOut))?
    } else {
        uninstall.await?
    };
    Ok(outcome.kept)
}

/// The installed release, which the spec may no longer name.
pub(super) fn installed_release(plugin: &Plugin, status: &PluginStatus) -> ReleaseId {
    match (&status.namespace, &status.release_name) {
        (Some(namespace), Some(name)) => ReleaseId::new(namespace.clone(), name.clone()),
        _ => release_id(plugin),
    }
}

/// Requests the removal of dependents, and in turn of theirs: deletes them if `is_deleted`, else disables them.
pub(crate) async fn cascade(
    client: &Client,
    dependents: &[Key],
    is_deleted: bool,
) -> Result<(), ReconcileError> {
    let parameters = patch_params(FIELD_MANAGER);
    for key in dependents {
        let api: Api<Plugin> = Api::namespaced(client.clone(), &key.namespace);
        let mut patch = json!({"metadata": {"annotations": {CASCADE: "true"}}});
        if !is_deleted {
            patch["spec"] = json!({"enabled": false});
        }
        let patched = api
            .patch(&key.name, &parameters, &Patch::Merge(&patch))
            .await;
        ignore_not_found(patched)?;
        if is_deleted {
            ignore_not_found(api.delete(&key.name, &DeleteParams::default()).await)?;
        }
    }
    Ok(())
}

fn ignore_not_found<T>(result: Result<T, kube::Error>) -> Result<(), ReconcileError> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) if outrigger_release::is_transient(&error) => {
            Err(ReconcileError::unreachable(READY, &error))
        }
        Err(error) => Err(ReconcileError::Failed {
            condition: READY,
            cause: Cause::new(Reason::CascadeFailed, error::error_chain(&error)),
        }),
    }
}
