//! `outrigger plugin disable`: switched off, unless others need it.

use anyhow::anyhow;
use outrigger_api::annotation::FORCE;
use outrigger_api::plugin::Plugin;

use super::change::ChangeFlags;
use super::connect::{ClusterFlags, Connection};
use super::dependants::{direct, in_order, names};
use super::edit::edit;
use super::verdict::Goal;
use crate::printer::Printer;
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin disable tracing --wait
  outrigger plugin disable storage --cascade";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin
    name: String,
    #[command(flatten)]
    reach: ReachFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

/// What to do about plugins that need this one.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ReachFlags {
    /// Also those that need it, before it
    #[arg(long)]
    pub(super) cascade: bool,
    /// Though others need it, and though something of it cannot be removed
    #[arg(long, conflicts_with = "cascade")]
    pub(super) force: bool,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let plugins = disable(&connection, &args.name, args.reach, args.change.dry_run).await?;
    let change = &args.change;
    change
        .finish(&connection, &plugins, "disabled", Goal::Disabled, printer)
        .await
}

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

/// Puts an annotation that the controller heeds.
pub(super) fn mark(plugin: &mut Plugin, annotation: &str) {
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation.to_owned(), "true".to_owned());
}

/// The plugins that must go first. Without leave to take them along, their names are the error.
pub(super) async fn affected(
    connection: &Connection,
    name: &str,
    reach: ReachFlags,
) -> anyhow::Result<Vec<Plugin>> {
    if reach.force {
        return Ok(Vec::new());
    }
    let all = connection.all().await?;
    let needed_by = direct(&all, &connection.namespace, name);
    if !reach.cascade && !needed_by.is_empty() {
        let message = format!(
            "plugin {}/{name} is needed by {}",
            connection.namespace,
            names(&needed_by)
        );
        return Err(anyhow!(message))
            .hint("--cascade takes them along, before it; --force leaves them without it");
    }
    let order = in_order(&all, &connection.namespace, name);
    Ok(order.into_iter().cloned().collect())
}

/// A required plugin stays.
pub(super) fn refuse_required(plugin: &Plugin, fate: &str) -> anyhow::Result<()> {
    if !plugin.spec.required {
        return Ok(());
    }
    let (namespace, name) = (plugin.namespace(), plugin.name());
    Err(anyhow!(
        "plugin {namespace}/{name} is required and cannot be {fate}"
    ))
    .hint("if you mean it, set spec.required to false first")
}
