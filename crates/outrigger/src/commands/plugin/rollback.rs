//! `outrigger plugin rollback`: restores version and values of an earlier revision.
//!
//! The spec of the plugin is the desired state, so a rollback changes the spec; the controller then installs a new
//! revision.

use anyhow::{anyhow, ensure};
use outrigger_api::annotation::ROLLBACK;
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_release::{Record, Revision, Status};
use serde_json::{Map, Value};

use super::change::{ChangeFlags, Outcome, ensure_valid};
use super::connect::Connection;
use super::edit::edit;
use super::release;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger plugin rollback monitoring --wait
  outrigger plugin rollback monitoring 3 --dry-run -o yaml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    /// Revision to roll back to [default: the last successful one before the current]
    revision: Option<u32>,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.change.cluster.connect().await?;
    let (plugin, revision) =
        roll_back(&connection, &args.name, args.revision, args.change.dry_run).await?;
    let done = format!("rolled back to revision {revision}");
    let requested = format!("rollback to revision {revision} requested");
    let outcome = Outcome::new(&done, WaitCondition::Ready).requested(&requested);
    args.change
        .finish(&connection, &[plugin], outcome, printer)
        .await
}

/// Sets the version and values of the plugin to those of a revision.
pub(super) async fn roll_back(
    connection: &Connection,
    name: &str,
    revision: Option<u32>,
    dry_run: bool,
) -> anyhow::Result<(Plugin, u32)> {
    let plugin = connection.get(name).await?;
    ensure!(
        matches!(plugin.spec.kind, PluginKind::Helm | PluginKind::Template),
        "plugin {name} cannot be rolled back: only kinds helm and template have revisions of a chart"
    );
    let cluster = release::cluster(connection, &plugin).await?;
    let id = release::id(&plugin);
    let revision = if let Some(revision) = revision {
        revision
    } else {
        let history = outrigger_release::list_revisions(&cluster, &id).await?;
        last_successful(&history)
            .ok_or_else(|| anyhow!("plugin {name} has no earlier successful revision"))?
    };
    let record = outrigger_release::get_release(&cluster, &id, Some(revision)).await;
    let record = record.hint(format!(
        "outrigger plugin history {name} lists the revisions"
    ))?;
    if !plugin.spec.values_from.is_empty() {
        note("values from ConfigMaps and Secrets are not rolled back");
    }
    let version = &record.chart.summary().version;
    if let Some(range) = replaced_range(&plugin, version) {
        note(&format!(
            "the version is {version} from now on, it was {range}; \
             `outrigger plugin set {name} --version VERSION` changes it"
        ));
    }
    let api = connection.plugins();
    let plugin = edit(&api, name, dry_run, |plugin| {
        restore(plugin, &record);
        annotate_rollback(plugin, revision);
        ensure_valid(plugin)
    });
    Ok((plugin.await?, revision))
}

/// Makes the controller record the change as a rollback. The change of the spec makes the next generation.
fn annotate_rollback(plugin: &mut Plugin, revision: u32) {
    let generation = plugin.metadata.generation.unwrap_or_default() + 1;
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(ROLLBACK.to_owned(), format!("{revision}@{generation}"));
}

/// The version range that the rollback replaces by the version of the record, if that is another one than the range
/// selects now.
fn replaced_range(plugin: &Plugin, version: &str) -> Option<String> {
    let status = plugin.status.as_ref();
    let installed = status.and_then(|status| status.version.as_deref());
    let range = plugin.spec.version.as_deref().unwrap_or("latest");
    (installed != Some(version) && range != version).then(|| range.to_owned())
}

/// The last revision before the current one that was deployed.
fn last_successful(history: &[Revision]) -> Option<u32> {
    let (_, earlier) = history.split_last()?;
    let is_successful =
        |revision: &&Revision| matches!(revision.status, Status::Superseded | Status::Deployed);
    earlier
        .iter()
        .rev()
        .find(is_successful)
        .map(|revision| revision.revision)
}

/// Restores version and values. The values of a record include those from Secrets; if the plugin has `valuesFrom`, only
/// values that its spec sets now are restored, so that no secret gets into the spec.
fn restore(plugin: &mut Plugin, record: &Record) {
    let version = &record.chart.summary().version;
    if replaced_range(plugin, version).is_some() {
        plugin.spec.version = Some(version.clone());
    }
    plugin.spec.values = if plugin.spec.values_from.is_empty() {
        record.config.clone()
    } else {
        restrict(&record.config, &plugin.spec.values)
    };
}

/// The entries of `values` whose paths exist in `paths`.
fn restrict(values: &Map<String, Value>, paths: &Map<String, Value>) -> Map<String, Value> {
    let restricted = paths.iter().filter_map(|(key, path)| {
        let value = match (values.get(key)?, path) {
            (Value::Object(values), Value::Object(paths)) => Value::Object(restrict(values, paths)),
            (value, _) => value.clone(),
        };
        Some((key.clone(), value))
    });
    restricted.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_range_is_replaced_only_if_it_selects_another_version() {
        let plugin = |range: Option<&str>| -> Plugin {
            let object = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"},
                "spec": {"version": range}, "status": {"version": "1.3.0"},
            });
            serde_json::from_value(object).unwrap()
        };
        let replaced = |range, version| replaced_range(&plugin(range), version);
        assert_eq!(replaced(Some("^1"), "1.3.0"), None);
        assert_eq!(replaced(Some("^1"), "1.2.0").as_deref(), Some("^1"));
        assert_eq!(replaced(None, "1.2.0").as_deref(), Some("latest"));
        assert_eq!(replaced(Some("1.2.0"), "1.2.0"), None);
    }

    #[test]
    fn restores_only_values_that_the_spec_sets() {
        let old = json!({"a": {"b": 1, "password": "hunter2"}, "c": 2, "token": "hunter2"});
        let now = json!({"a": {"b": 9}, "c": 8, "new": 1});
        let map = |value: &Value| value.as_object().unwrap().clone();
        let restored = Value::Object(restrict(&map(&old), &map(&now)));
        assert_eq!(restored, json!({"a": {"b": 1}, "c": 2}));
    }
}
