//! `outrigger plugin rollback`: the version and the values of an earlier revision again.
//!
//! The plugin is what is wanted, so going back is a change of the plugin; the controller makes a new revision of it.

use anyhow::{anyhow, ensure};
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_release::{Record, Revision, Status};
use serde_json::{Map, Value};

use super::change::{ChangeFlags, ensure_good};
use super::connect::{ClusterFlags, Connection};
use super::edit::edit;
use super::release;
use super::verdict::Goal;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin rollback monitoring --wait
  outrigger plugin rollback monitoring 3 --dry-run -o yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin
    name: String,
    /// The revision to go back to; the last good one before the present if not given
    revision: Option<u32>,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let (plugin, revision) =
        roll_back(&connection, &args.name, args.revision, args.change.dry_run).await?;
    let done = format!("goes back to revision {revision}");
    let plugins = [plugin];
    args.change
        .finish(&connection, &plugins, &done, Goal::Ready, printer)
        .await
}

/// Gives the plugin the version and values that a revision had.
pub(super) async fn roll_back(
    connection: &Connection,
    name: &str,
    revision: Option<u32>,
    dry_run: bool,
) -> anyhow::Result<(Plugin, u32)> {
    let plugin = connection.get(name).await?;
    ensure!(
        matches!(plugin.spec.kind, PluginKind::Helm | PluginKind::Template),
        "only charts have versions to go back to; plugin {name} is of another kind"
    );
    let cluster = release::cluster(connection, &plugin).await?;
    let id = release::id(&plugin);
    let revision = if let Some(revision) = revision {
        revision
    } else {
        let history = outrigger_release::list_revisions(&cluster, &id).await?;
        last_good(&history).ok_or_else(|| anyhow!("plugin {name} has no earlier good revision"))?
    };
    let record = outrigger_release::get_release(&cluster, &id, Some(revision)).await;
    let record = record.hint("outrigger plugin history NAME lists the revisions")?;
    if !plugin.spec.values_from.is_empty() {
        note("what comes from ConfigMaps and Secrets stays as it is there now");
    }
    let api = connection.plugins();
    let plugin = edit(&api, name, dry_run, |plugin| {
        restore(plugin, &record);
        ensure_good(plugin)
    });
    Ok((plugin.await?, revision))
}

/// The last revision before the present one that was good once.
fn last_good(history: &[Revision]) -> Option<u32> {
    let (_, before) = history.split_last()?;
    let good =
        |revision: &&Revision| matches!(revision.status, Status::Superseded | Status::Deployed);
    before
        .iter()
        .rev()
        .find(good)
        .map(|revision| revision.revision)
}

/// A record has all values in one, also those of Secrets. With sources besides, only what the plugin sets itself now
/// goes back, so that nothing secret gets into the plugin.
fn restore(plugin: &mut Plugin, record: &Record) {
    plugin.spec.version = Some(record.chart.summary().version.clone());
    plugin.spec.values = if plugin.spec.values_from.is_empty() {
        record.config.clone()
    } else {
        limited(&record.config, &plugin.spec.values)
    };
}

/// The entries of `from` that `to` has too.
fn limited(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let kept = to.iter().filter_map(|(key, value)| {
        let old = match (from.get(key)?, value) {
            (Value::Object(from), Value::Object(to)) => Value::Object(limited(from, to)),
            (old, _) => old.clone(),
        };
        Some((key.clone(), old))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn with_other_sources_only_what_the_plugin_sets_goes_back() {
        let old = json!({"a": {"b": 1, "password": "hunter2"}, "c": 2, "token": "hunter2"});
        let now = json!({"a": {"b": 9}, "c": 8, "new": 1});
        let map = |value: &Value| value.as_object().unwrap().clone();
        let restored = Value::Object(limited(&map(&old), &map(&now)));
        assert_eq!(restored, json!({"a": {"b": 1}, "c": 2}));
    }
}
