//! `outrigger plugin disable`: switched off, unless others need it.

use outrigger_api::annotation::FORCE;
use outrigger_api::plugin::Plugin;

use super::connect::Connection;
use super::edit::edit;
use super::reach::{ReachFlags, affected, mark, refuse_required};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin disable tracing --wait
  outrigger plugin disable storage --cascade";

/// Switches it off, after those that need it.
pub(super) async fn disable(
    connection: &Connection,
    name: &str,
    reach: ReachFlags,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let plugin = connection.get(name).await?;
    refuse_required(&plugin, "switched off")?;
    let mut switched = Vec::new();
    for other in affected(connection, name, reach).await? {
        refuse_required(&other, "switched off")?;
        switched.push(switch_off(connection, &other, false, dry_run).await?);
    }
    switched.push(switch_off(connection, &plugin, reach.force, dry_run).await?);
    Ok(switched)
}

async fn switch_off(
    connection: &Connection,
    plugin: &Plugin,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<Plugin> {
    let api = connection.plugins_in(plugin.namespace());
    edit(&api, plugin.name(), dry_run, |plugin| {
        plugin.spec.enabled = false;
        if force {
            mark(plugin, FORCE);
        }
        Ok(())
    })
    .await
}
