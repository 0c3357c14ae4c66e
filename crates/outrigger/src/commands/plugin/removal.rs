//! What `disable` and `uninstall` share: their flags, and the handling of dependents.

use anyhow::anyhow;
use outrigger_api::annotation::SUSPEND;
use outrigger_api::plugin::Plugin;

use super::change::{ChangeFlags, Outcome};
use super::connect::Connection;
use super::dependents::{direct, names, removal_order};
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

#[derive(Debug, clap::Args)]
pub(crate) struct RemovalArgs {
    /// Names of the plugins
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    flags: RemovalFlags,
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
        remove: impl AsyncFn(&Connection, &str, RemovalFlags, bool) -> anyhow::Result<Vec<Plugin>>,
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let connection = self.change.cluster.connect().await?;
        let change = &self.change;
        // All are checked before the first is removed.
        for name in &self.names {
            connection.get(name).await?;
            self.check_dependents(&connection, name).await?;
        }
        let mut flags = self.flags;
        // All dependents are removed by this command.
        flags.cascade |= self.names.len() > 1 && !flags.force;
        let mut plugins: Vec<Plugin> = Vec::new();
        for name in &self.names {
            let removed = remove(&connection, name, flags, change.dry_run).await?;
            let is_new = |plugin: &Plugin| !plugins.iter().any(|other| is_same(other, plugin));
            let removed: Vec<Plugin> = removed.into_iter().filter(is_new).collect();
            plugins.extend(removed);
        }
        change
            .finish(&connection, &plugins, outcome, printer)
            .await?;
        for text in plugins.iter().filter_map(|plugin| stays(plugin, flags)) {
            note(&text);
        }
        Ok(())
    }
}

/// What the removal of a plugin leaves in the cluster.
fn stays(plugin: &Plugin, flags: RemovalFlags) -> Option<String> {
    let name = format!("{}/{}", plugin.namespace(), plugin.name());
    if plugin.is_annotated(SUSPEND) {
        return Some(format!(
            "plugin {name} is suspended: its release stays installed"
        ));
    }
    let ready = plugin.condition("Ready");
    let is_unreachable = ready.is_some_and(|ready| ready.reason == "ClusterUnreachable");
    let is_orphaned = flags.force && is_unreachable;
    let inventory = plugin.status.iter().flat_map(|status| &status.inventory);
    let kept = inventory.filter(|entry| entry.keep || is_orphaned);
    let kept = kept.map(|entry| {
        let namespace = entry.namespace.as_deref();
        match namespace {
            Some(namespace) => format!("{} {namespace}/{}", entry.kind, entry.name),
            None => format!("{} {}", entry.kind, entry.name),
        }
    });
    let kept: Vec<String> = kept.collect();
    let kept = Some(kept.join(", ")).filter(|kept| !kept.is_empty())?;
    Some(if is_orphaned {
        format!("the cluster of plugin {name} does not respond; possibly left behind: {kept}")
    } else {
        format!("plugin {name} keeps {kept}")
    })
}

impl RemovalArgs {
    /// Dependents that are not removed by the same command are an error without `--cascade` or `--force`.
    async fn check_dependents(&self, connection: &Connection, name: &str) -> anyhow::Result<()> {
        if self.flags.cascade || self.flags.force {
            return Ok(());
        }
        let all = connection.all().await?;
        let mut dependents = direct(&all, &connection.namespace, name);
        let is_removed = |plugin: &Plugin| {
            plugin.namespace() == connection.namespace
                && self.names.iter().any(|name| name == plugin.name())
        };
        dependents.retain(|dependent| !is_removed(dependent));
        ensure_no_dependents(connection, name, &dependents)
    }
}

fn ensure_no_dependents(
    connection: &Connection,
    name: &str,
    dependents: &[&Plugin],
) -> anyhow::Result<()> {
    if dependents.is_empty() {
        return Ok(());
    }
    let (namespace, names) = (&connection.namespace, names(dependents));
    let message = format!("plugin {namespace}/{name} has dependents: {names}");
    Err(anyhow!(message)).hint("--cascade removes them first; --force ignores them")
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
    if !flags.cascade {
        let dependents = direct(&all, &connection.namespace, name);
        ensure_no_dependents(connection, name, &dependents)?;
    }
    let order = removal_order(&all, &connection.namespace, name);
    Ok(order.into_iter().cloned().collect())
}

fn is_same(one: &Plugin, other: &Plugin) -> bool {
    (one.namespace(), one.name()) == (other.namespace(), other.name())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_forced_removal_names_what_may_be_left_in_a_cluster_that_does_not_respond() {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": "web", "namespace": "default"}, "spec": {},
            "status": {
                "inventory": [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a"}],
                "conditions": [{
                    "type": "Ready", "status": "False", "reason": "ClusterUnreachable", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        let plugin: Plugin = serde_json::from_value(plugin).unwrap();
        let force = RemovalFlags {
            force: true,
            ..RemovalFlags::default()
        };
        let text = stays(&plugin, force).unwrap();
        assert!(
            text.ends_with("possibly left behind: ConfigMap default/a"),
            "{text}"
        );
        assert_eq!(stays(&plugin, RemovalFlags::default()), None);
    }
}
