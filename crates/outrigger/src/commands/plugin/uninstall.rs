//! `outrigger plugin uninstall`: the plugin and all that it added go.

use kube::api::DeleteParams;
use outrigger_api::annotation::{CASCADE, FORCE};
use outrigger_api::plugin::Plugin;

use super::connect::{Connection, explain};
use super::edit::edit;
use super::reach::{ReachFlags, affected, mark, refuse_required};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin uninstall tracing --wait
  outrigger plugin uninstall storage --cascade";

/// Removes it, after those that need it.
pub(super) async fn uninstall(
    connection: &Connection,
    name: &str,
    reach: ReachFlags,
    dry_run: bool,
) -> anyhow::Result<Vec<Plugin>> {
    let plugin = connection.get(name).await?;
    if !reach.force {
        refuse_required(&plugin, "removed")?;
    }
    let mut removed = affected(connection, name, reach).await?;
    for other in &removed {
        refuse_required(other, "removed")?;
    }
    removed.push(plugin);
    for plugin in &removed {
        remove(connection, plugin, reach, dry_run).await?;
    }
    Ok(removed)
}

async fn remove(
    connection: &Connection,
    plugin: &Plugin,
    reach: ReachFlags,
    dry_run: bool,
) -> anyhow::Result<()> {
    let api = connection.plugins_in(plugin.namespace());
    let name = plugin.name();
    let annotation = match reach {
        ReachFlags { force: true, .. } => Some(FORCE),
        ReachFlags { cascade: true, .. } => Some(CASCADE),
        ReachFlags { .. } => None,
    };
    if let Some(annotation) = annotation {
        let marked = edit(&api, name, dry_run, |plugin| {
            mark(plugin, annotation);
            Ok(())
        });
        marked.await?;
    }
    let parameters = DeleteParams {
        dry_run,
        ..DeleteParams::default()
    };
    match api.delete(name, &parameters).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(explain(error, Some(name))),
    }
}
