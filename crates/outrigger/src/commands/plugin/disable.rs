//! `outrigger plugin disable`: disables a plugin, unless it has dependents.

use outrigger_api::annotation::FORCE;
use outrigger_api::plugin::Plugin;

use super::connect::Connection;
use super::edit::edit;
use super::removal::{RemovalFlags, annotate};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin disable tracing --wait
  outrigger plugin disable storage --cascade";

/// Disables a plugin.
pub(super) async fn disable(
    connection: &Connection,
    plugin: &Plugin,
    flags: RemovalFlags,
    dry_run: bool,
) -> anyhow::Result<Plugin> {
    let api = connection.plugins_in(plugin.namespace());
    edit(&api, plugin.name(), dry_run, |plugin| {
        plugin.spec.enabled = false;
        if flags.force {
            annotate(plugin, FORCE);
        }
        Ok(())
    })
    .await
}
