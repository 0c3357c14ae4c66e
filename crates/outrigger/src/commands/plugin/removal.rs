//! What switching off and removing have in common: a plugin, and how far it reaches to those that need it.

use anyhow::anyhow;
use outrigger_api::plugin::Plugin;

use super::change::ChangeFlags;
use super::connect::{ClusterFlags, Connection};
use super::dependants::{direct, in_order, names};
use super::verdict::Goal;
use crate::printer::Printer;
use crate::report::HintExt as _;

/// A plugin that is to go, in one way or another.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
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

impl Target {
    /// Lets it go in the given way, then tells what became of it.
    pub(super) async fn run(
        &self,
        go: impl AsyncFnOnce(&Connection, &str, ReachFlags, bool) -> anyhow::Result<Vec<Plugin>>,
        done: &str,
        goal: Goal,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let connection = self.cluster.connect().await?;
        let change = &self.change;
        let plugins = go(&connection, &self.name, self.reach, change.dry_run).await?;
        change
            .finish(&connection, &plugins, done, goal, printer)
            .await
    }
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

/// Puts an annotation that the controller heeds.
pub(super) fn mark(plugin: &mut Plugin, annotation: &str) {
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation.to_owned(), "true".to_owned());
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
