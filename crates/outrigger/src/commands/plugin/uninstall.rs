//! `outrigger plugin uninstall`: deletes a plugin; the controller removes its release.

use kube::api::DeleteParams;
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::Plugin;

use super::connect::{Connection, explain};
use super::edit::edit_plugin;
use super::origin::Origin;
use super::removal::{RemovalFlags, annotate};
use crate::report::note;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin uninstall tracing --wait
  outrigger plugin uninstall storage --cascade";

/// Deletes a plugin.
pub(super) async fn uninstall(
    connection: &Connection,
    plugin: &Plugin,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<Plugin> {
    remove(connection, plugin, flags, dry_run).await?;
    Ok(plugin.clone())
}

async fn remove(
    connection: &Connection,
    plugin: &Plugin,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<()> {
    let api = connection.plugins_in(plugin.namespace());
    let name = plugin.name();
    let annotation = match flags {
        RemovalFlags { force: true, .. } => Some(FORCE),
        RemovalFlags { cascade: true, .. } => Some(CASCADE),
        RemovalFlags { .. } => None,
    };
    if let Some(annotation) = annotation {
        // The annotation is for the controller, which reads it from the plugin.
        let annotated = edit_plugin(&api, name, dry_run, |plugin| {
            annotate(plugin, annotation);
            Ok(())
        });
        annotated.await?;
    }
    let parameters = DeleteParams {
        dry_run,
        ..DeleteParams::default()
    };
    if let Some(origin) = Origin::of(plugin) {
        note(&format!("deleting {origin}, which plugin {name} mirrors"));
        let client = connection.client.clone();
        return deleted(origin.delete(client, &parameters).await, name);
    }
    deleted(api.delete(name, &parameters).await, name)
}

fn deleted<T>(result: Result<T, kube::Error>, name: &str) -> anyhow::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(explain(&error, Some(name))),
    }
}
