//! What `disable` and `uninstall` share: their flags, and the handling of dependents.

use std::time::Duration;

use anyhow::anyhow;
use outrigger_api::annotation::SUSPEND;
use outrigger_api::plugin::{InventoryEntry, Plugin};
use outrigger_api::reason::Reason;
use outrigger_release::ObjectId;

use super::change::{ChangeFlags, Outcome};
use super::connect::Connection;
use super::dependents::{direct, names, removal_order};
use super::release;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

/// How long a removal waits for the cluster to tell what will stay.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// Runs `remove` for each plugin, dependents first, then prints the changed plugins. `action` is what cannot be done to
    /// required plugins.
    pub(super) async fn run(
        &self,
        action: &str,
        remove: impl AsyncFn(&Connection, &Plugin, RemovalFlags, bool) -> anyhow::Result<Plugin>,
        outcome: Outcome<'_>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        let connection = self.change.cluster.connect().await?;
        let flags = self.flags;
        let plugins = plugins_to_remove(&connection, &self.names, flags, action).await?;
        // Read before the removal, because afterwards nothing tells what belonged to a release.
        let mut notes = Vec::new();
        for plugin in &plugins {
            let kept = kept_objects(&connection, plugin).await;
            notes.extend(stays(plugin, &kept, flags, outcome));
        }
        let mut removed = Vec::new();
        for plugin in &plugins {
            removed.push(remove(&connection, plugin, flags, self.change.dry_run).await?);
        }
        self.change
            .finish(&connection, &removed, outcome, printer)
            .await?;
        for text in &notes {
            note(text);
        }
        Ok(())
    }
}

/// The named plugins and, with `--cascade`, their dependents, in the order of removal. All are checked before the first is
/// removed: dependents that stay are an error without `--force`, and so are required plugins.
pub(super) async fn plugins_to_remove(
    connection: &Connection,
    names: &[String],
    flags: RemovalFlags,
    action: &str,
) -> anyhow::Result<Vec<Plugin>> {
    for name in names {
        connection.get(name).await?;
    }
    let all = connection.all().await?;
    let order = removal_order(&all, &connection.namespace, names, flags.cascade);
    for plugin in &order {
        ensure_not_required(plugin, action)?;
        let mut dependents = direct(&all, plugin.namespace(), plugin.name());
        dependents.retain(|dependent| !order.iter().any(|other| is_same(other, dependent)));
        if !flags.force {
            ensure_no_dependents(plugin, &dependents)?;
        }
    }
    Ok(order.into_iter().cloned().collect())
}

/// What the uninstall of the release leaves in the cluster, with the reasons. What the inventory tells, if the cluster
/// does not respond.
async fn kept_objects(connection: &Connection, plugin: &Plugin) -> Vec<String> {
    let inventory = plugin.status.iter().flat_map(|status| &status.inventory);
    let ids: Vec<ObjectId> = inventory.clone().map(object_id).collect();
    let leftovers = async {
        let cluster = release::cluster(connection, plugin).await.ok()?;
        let id = release::id(plugin);
        let leftovers = outrigger_release::leftovers(&cluster, &id, &ids).await;
        leftovers.ok()
    };
    let leftovers = tokio::time::timeout(READ_TIMEOUT, leftovers).await;
    let Some(leftovers) = leftovers.ok().flatten() else {
        let kept = inventory.filter(|entry| entry.keep).map(object_id);
        return kept.map(|id| object_text(&id)).collect();
    };
    leftovers
        .iter()
        .filter(|kept| kept.object.kind != "Namespace" || !plugin.is_in_release_namespace())
        .map(|kept| format!("{} ({})", object_text(&kept.object), kept.reason))
        .collect()
}

fn object_id(entry: &InventoryEntry) -> ObjectId {
    ObjectId {
        api_version: entry.api_version.clone(),
        kind: entry.kind.clone(),
        namespace: entry.namespace.clone(),
        name: entry.name.clone(),
    }
}

fn object_text(id: &ObjectId) -> String {
    match &id.namespace {
        Some(namespace) => format!("{} {namespace}/{}", id.kind, id.name),
        None => format!("{} {}", id.kind, id.name),
    }
}

/// What the removal of a plugin leaves in the cluster. A suspended plugin that is disabled can still be resumed.
fn stays(
    plugin: &Plugin,
    kept: &[String],
    flags: RemovalFlags,
    outcome: Outcome<'_>,
) -> Option<String> {
    let name = format!("{}/{}", plugin.namespace(), plugin.name());
    if plugin.is_annotated(SUSPEND) {
        let text = || format!("plugin {name} is suspended: its release stays installed");
        return outcome.is_deletion().then(text);
    }
    let ready = plugin.condition("Ready");
    let is_unreachable = ready.is_some_and(|ready| ready.has_reason(&[Reason::ClusterUnreachable]));
    if flags.force && is_unreachable {
        let inventory = plugin.status.iter().flat_map(|status| &status.inventory);
        let objects: Vec<String> = inventory
            .map(|entry| object_text(&object_id(entry)))
            .collect();
        let objects = objects.join(", ");
        return Some(format!(
            "the cluster of plugin {name} does not respond; possibly left behind: {objects}"
        ));
    }
    (!kept.is_empty()).then(|| format!("plugin {name} leaves {}", kept.join(", ")))
}

fn ensure_no_dependents(plugin: &Plugin, dependents: &[&Plugin]) -> anyhow::Result<()> {
    if dependents.is_empty() {
        return Ok(());
    }
    let (namespace, name, names) = (plugin.namespace(), plugin.name(), names(dependents));
    let message = format!("plugin {namespace}/{name} has dependents: {names}");
    Err(anyhow!(message)).hint("--cascade removes them first; --force ignores them")
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
    .hint(format!(
        "kubectl patch plugins.outrigger.dev {name} -n {namespace} --type=merge -p '{{\"spec\":{{\"required\":false}}}}' \
         permits it"
    ))
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
        let outcome = Outcome::immediate("disabled");
        let text = stays(&plugin, &[], force, outcome).unwrap();
        assert!(
            text.ends_with("possibly left behind: ConfigMap default/a"),
            "{text}"
        );
        assert_eq!(stays(&plugin, &[], RemovalFlags::default(), outcome), None);
    }
}
