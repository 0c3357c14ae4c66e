//! `outrigger plugin disable`: disables a plugin, unless it has dependents.

use outrigger_api::annotation::FORCE;
use outrigger_api::plugin::Plugin;

use super::connect::Connection;
use super::edit::edit;
use super::removal::{RemovalFlags, annotate, dependents_to_remove, ensure_not_required};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin disable tracing --wait
  outrigger plugin disable storage --cascade";

/// Disables the dependents if requested, then the plugin.
pub(super) async fn disable(
    connection: &Connection,
    name: &str,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let plugin = connection.get(name).await?;
    ensure_not_required(&plugin, "disabled")?;
    let mut disabled = Vec::new();
    for dependent in dependents_to_remove(connection, name, flags).await? {
        ensure_not_required(&dependent, "disabled")?;
        disabled.push(disable_one(connection, &dependent, false, dry_run).await?);
    }
    disabled.push(disable_one(connection, &plugin, flags.force, dry_run).await?);
    Ok(disabled)
}

async fn disable_one(
    connection: &Connection,
    plugin: &Plugin,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<Plugin> {
    let api = connection.plugins_in(plugin.namespace());
    edit(&api, plugin.name(), dry_run, |plugin| {
        plugin.spec.enabled = false;
        if force {
            annotate(plugin, FORCE);
        }
        Ok(())
    })
    .await
}
