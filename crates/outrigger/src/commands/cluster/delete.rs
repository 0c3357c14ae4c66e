//! `outrigger cluster delete`: removes a cluster from its machines.

use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::plugin::Plugin;

use super::change::{ChangeFlags, Outcome};
use super::edit;
use super::wait::ClusterCondition;
use crate::commands::plugin::connect::Connection;
use crate::plural::counted;
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster delete cls-1 --wait
  outrigger cluster delete cls-1 --force    Do not wait for machines that cannot be reached";

/// The plugins that are named before a deletion.
const MAX_NAMED: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Remove the objects even if machines cannot be cleaned up; hooks that did not run never will
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let connection = change.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    if let Some(text) = plugins_text(&owned_plugins(&connection, &cluster).await) {
        note(&text);
    }
    edit::delete(&connection, &cluster, args.force, change.dry_run).await?;
    let outcome = Outcome {
        requested: ": deletion requested",
        done: " deleted",
    };
    let names = [args.name.clone()];
    let condition = ClusterCondition::Deleted;
    change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}

/// The plugins that are deleted with the cluster. None if they cannot be listed: they are an addition.
pub(super) async fn owned_plugins(connection: &Connection, cluster: &Cluster) -> Vec<String> {
    let api: Api<Plugin> = Api::all(connection.client.clone());
    let list = api.list_metadata(&ListParams::default()).await;
    let mut plugins = list.map(|list| list.items).unwrap_or_default();
    plugins.retain(|plugin| {
        let mut owners = plugin.owner_references().iter();
        owners.any(|owner| cluster.metadata.uid.as_ref() == Some(&owner.uid))
    });
    let names = plugins.iter().map(|plugin| {
        let namespace = plugin.namespace().unwrap_or_default();
        format!("{namespace}/{}", plugin.name_any())
    });
    names.collect()
}

/// Names the plugins that are deleted with the cluster.
fn plugins_text(plugins: &[String]) -> Option<String> {
    if plugins.is_empty() {
        return None;
    }
    let named = &plugins[..plugins.len().min(MAX_NAMED)];
    let more = if plugins.len() > MAX_NAMED {
        ", ..."
    } else {
        ""
    };
    let count = counted(plugins.len(), "plugin");
    Some(format!(
        "{count} will be deleted with it: {}{more}",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_that_go_along_are_counted_and_named() {
        let plugins = |count: usize| -> Vec<String> {
            (0..count)
                .map(|number| format!("default/p{number}"))
                .collect()
        };
        assert_eq!(plugins_text(&plugins(0)), None);
        let one = plugins_text(&plugins(1));
        let text = "1 plugin will be deleted with it: default/p0";
        assert_eq!(one.as_deref(), Some(text));
        let many = plugins_text(&plugins(9)).unwrap();
        let end = "default/p3, default/p4, ...";
        assert!(
            many.starts_with("9 plugins") && many.ends_with(end),
            "{many}"
        );
    }
}
