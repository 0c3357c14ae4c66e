//! What `disable` and `uninstall` share: their flags, and the handling of dependents.

use anyhow::anyhow;
use outrigger_api::plugin::Plugin;

use super::change::ChangeFlags;
use super::connect::{ClusterFlags, Connection};
use super::dependents::{direct, names, removal_order};
use super::wait_condition::WaitCondition;
use crate::printer::Printer;
use crate::report::HintExt as _;

#[derive(Debug, clap::Args)]
pub(crate) struct RemovalArgs {
    /// Name of the plugin
    name: String,
    #[command(flatten)]
    flags: RemovalFlags,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

/// What to do about dependents.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct RemovalFlags {
    /// Remove its dependents first
    #[arg(long)]
    pub(super) cascade: bool,
    /// Ignore dependents and objects that cannot be removed
    #[arg(long, conflicts_with = "cascade")]
    pub(super) force: bool,
}

impl RemovalArgs {
    /// Runs `remove`, then prints the changed plugins.
    pub(super) async fn run(
        &self,
        remove: impl AsyncFnOnce(&Connection, &str, RemovalFlags, bool) -> anyhow::Result<Vec<Plugin>>,
        action: &str,
        condition: WaitCondition,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let connection = self.cluster.connect().await?;
        let change = &self.change;
        let plugins = remove(&connection, &self.name, self.flags, change.dry_run).await?;
        change
            .finish(&connection, &plugins, action, condition, printer)
            .await
    }
}

/// The dependents to remove first. Dependents are an error without `--cascade` or `--force`.
pub(super) async fn dependents_to_remove(
    connection: &Connection,
    name: &str,
    flags: RemovalFlags,
) -> anyhow::Result<Vec<Plugin>> {
    if flags.force {
        return Ok(Vec::new());
    }
    let all = connection.all().await?;
    let dependents = direct(&all, &connection.namespace, name);
    if !flags.cascade && !dependents.is_empty() {
        let message = format!(
            "plugin {}/{name} has dependents: {}",
            connection.namespace,
            names(&dependents)
        );
        return Err(anyhow!(message)).hint("--cascade removes them first; --force ignores them");
    }
    let order = removal_order(&all, &connection.namespace, name);
    Ok(order.into_iter().cloned().collect())
}

/// Sets an annotation that the controller reads.
pub(super) fn annotate(plugin: &mut Plugin, annotation: &str) {
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation.to_owned(), "true".to_owned());
}

pub(super) fn ensure_not_required(plugin: &Plugin, action: &str) -> anyhow::Result<()> {
    if !plugin.spec.required {
        return Ok(());
    }
    let (namespace, name) = (plugin.namespace(), plugin.name());
    Err(anyhow!(
        "plugin {namespace}/{name} is required and cannot be {action}"
    ))
    .hint("set spec.required to false first")
}
