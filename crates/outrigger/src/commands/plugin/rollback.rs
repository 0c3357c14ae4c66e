//! `outrigger plugin rollback`: restores version and values of an earlier revision.
//!
//! The spec of the plugin is the desired state, so a rollback changes the spec; the controller then installs a new
//! revision.

use std::path::Path;

use anyhow::{anyhow, ensure};
use outrigger_api::annotation::ROLLBACK;
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_api::reason::Reason;
use outrigger_controller::{Options, PreviewError, preview};
use outrigger_release::{ChartSummary, Cluster, Plan, Record, Revision, Status};
use serde_json::{Map, Value};

use super::change::{ChangeFlags, Outcome, ensure_valid};
use super::connect::Connection;
use super::edit::edit;
use super::history::no_revisions;
use super::release;
use super::wait_condition::WaitCondition;
use crate::printer::Printer;
use crate::report::{HintExt as _, hinted, note};

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
    #[arg(value_parser = parse_revision)]
    revision: Option<u32>,
    #[command(flatten)]
    change: ChangeFlags,
}

fn parse_revision(text: &str) -> Result<u32, &'static str> {
    text.parse()
        .map_err(|_| "not a number; `outrigger plugin history NAME` lists the revisions")
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.change.cluster.connect().await?;
    let rolled_back =
        roll_back(&connection, &args.name, args.revision, args.change.dry_run).await?;
    let RolledBack {
        plugin, revision, ..
    } = rolled_back;
    let (done, requested) = if rolled_back.has_changed {
        (
            format!("rolled back to revision {revision}"),
            format!("rollback to revision {revision} requested"),
        )
    } else {
        let unchanged = format!("unchanged: it has the version and values of revision {revision}");
        (unchanged.clone(), unchanged)
    };
    let outcome = Outcome::new(&done, WaitCondition::Ready).requested(&requested);
    args.change
        .finish(&connection, &[plugin], outcome, printer)
        .await
}

/// A plugin whose spec was set to a revision.
#[derive(Debug)]
pub(super) struct RolledBack {
    pub(super) plugin: Plugin,
    pub(super) revision: u32,
    /// Whether that changed the spec.
    pub(super) has_changed: bool,
}

/// Sets the version and values of the plugin to those of a revision.
pub(super) async fn roll_back(
    connection: &Connection,
    name: &str,
    revision: Option<u32>,
    dry_run: bool,
) -> anyhow::Result<RolledBack> {
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
        ensure!(!history.is_empty(), no_revisions(&plugin));
        last_successful(&history, is_deployed(&plugin))
            .ok_or_else(|| anyhow!("plugin {name} has no earlier successful revision"))?
    };
    let record = outrigger_release::get_release(&cluster, &id, Some(revision)).await;
    let record = match record {
        Ok(record) => record,
        Err(error) => return Err(explain_missing(&cluster, &plugin, error).await),
    };
    if let Some(text) = failed_note(record.revision, record.info.status) {
        note(&text);
    }
    if !plugin.spec.values_from.is_empty() {
        note("values from ConfigMaps and Secrets are not rolled back");
    }
    let api = connection.plugins();
    let is_range_kept = selects(connection, &plugin, &record).await;
    let mut restored = plugin.clone();
    restore(&mut restored, &record, is_range_kept);
    let has_changed = restored.spec != plugin.spec;
    ensure_available(connection, &restored, &record).await?;
    if restored.spec.version != plugin.spec.version {
        let version = &record.chart.summary().version;
        note(&replaced_range_note(&plugin, version));
    }
    let plugin = edit(&api, name, dry_run, |plugin| {
        restore(plugin, &record, is_range_kept);
        if has_changed {
            annotate_rollback(plugin, revision);
        }
        ensure_valid(plugin)
    });
    Ok(RolledBack {
        plugin: plugin.await?,
        revision,
        has_changed,
    })
}

/// What the user should know about a revision that is returned to by its number. As in Helm, it may be a failed one.
fn failed_note(revision: u32, status: Status) -> Option<String> {
    let text =
        || format!("revision {revision} failed when it was installed; it is restored as requested");
    (status == Status::Failed).then(text)
}

/// Explains why a revision cannot be read. If there are others, it says how to list them.
async fn explain_missing(
    cluster: &Cluster,
    plugin: &Plugin,
    error: outrigger_release::Error,
) -> anyhow::Error {
    if !matches!(error, outrigger_release::Error::RevisionNotFound(_)) {
        let hint = error.hint();
        return hinted(error, hint);
    }
    let revisions = outrigger_release::list_revisions(cluster, &release::id(plugin)).await;
    if revisions.is_ok_and(|revisions| revisions.is_empty()) {
        return anyhow!(no_revisions(plugin));
    }
    let hint = error.hint();
    let (name, namespace) = (plugin.name(), plugin.namespace());
    let list = || format!("outrigger plugin history {name} -n {namespace} lists the revisions");
    hinted(error, hint.or_else(|| Some(list())))
}

/// A record does not tell which repository its chart came from. A version that the current one does not have is refused:
/// the plugin would fail. So is one whose templates or default values differ: the rollback would deploy another chart, or
/// claim that nothing is to be done.
async fn ensure_available(
    connection: &Connection,
    restored: &Plugin,
    record: &Record,
) -> anyhow::Result<()> {
    let revision = record.revision;
    let repo = restored.spec.repo.as_deref().unwrap_or_default();
    if let Some(path) = repo.strip_prefix("file://")
        && !Path::new(path).exists()
    {
        return Ok(());
    }
    match plan(connection, restored).await {
        Ok(plan) if plan.desired().has_other_chart_than(record) => {
            let chart = record.chart.summary();
            let message = format!(
                "revision {revision} cannot be restored: chart {} {} in the repository of the plugin is not the one that \
                 revision {revision} was installed from",
                chart.name, chart.version
            );
            let command = upgrade_command(restored, &chart.version);
            Err(anyhow!(message)).hint(format!(
                "use {command} with the repository that it came from"
            ))
        }
        Err(error)
            if matches!(
                error.reason,
                Some(Reason::ChartNotFound | Reason::WrongChart)
            ) =>
        {
            let chart = record.chart.summary();
            Err(anyhow!(not_in_source(restored, revision, chart))).hint(format!(
                "use {} with the repository that it came from, or `outrigger plugin upgrade {} -n {} CHART` with the \
                 directory, archive or URL of chart {} {}",
                upgrade_command(restored, &chart.version),
                restored.name(),
                restored.namespace(),
                chart.name,
                chart.version,
            ))
        }
        // Other errors may be those of this machine, which is not where the controller fetches charts.
        _ => Ok(()),
    }
}

/// Why the chart of a revision was not found, with the source that the plugin has now.
fn not_in_source(restored: &Plugin, revision: u32, chart: &ChartSummary) -> String {
    let source = match restored
        .spec
        .repo
        .as_deref()
        .filter(|repo| !repo.is_empty())
    {
        Some(repo) => outrigger_repository::redacted(repo),
        None => "any Repository".to_owned(),
    };
    format!(
        "revision {revision} cannot be restored: it was installed from chart {} {}, which is not in {source}, the current \
         source of plugin {}",
        chart.name,
        chart.version,
        restored.name()
    )
}

fn upgrade_command(plugin: &Plugin, version: &str) -> String {
    let (name, namespace) = (plugin.name(), plugin.namespace());
    format!("outrigger plugin upgrade {name} -n {namespace} --repo REPO --version {version}")
}

async fn plan(connection: &Connection, plugin: &Plugin) -> Result<Plan, PreviewError> {
    let options = Options {
        fetcher: outrigger_repository::Options::for_user(),
        ..Options::default()
    };
    let planned = preview(connection.client.clone(), options, plugin);
    Box::pin(planned).await
}

/// Whether the version range of the plugin selects the version of the record now, so that it can be kept.
async fn selects(connection: &Connection, plugin: &Plugin, record: &Record) -> bool {
    let version = &record.chart.summary().version;
    let status = plugin.status.as_ref();
    let installed = status.and_then(|status| status.version.as_ref());
    if range(plugin) == version {
        return true;
    }
    if installed != Some(version) || is_deployed(plugin) {
        return installed == Some(version);
    }
    // What the range selects could not be deployed. Maybe that is because of the values.
    let mut restored = plugin.clone();
    restore(&mut restored, record, true);
    let planned = plan(connection, &restored).await;
    planned.is_ok_and(|plan| !plan.desired().has_other_chart_than(record))
}

/// The version or version range in the spec of a plugin.
fn range(plugin: &Plugin) -> &str {
    plugin.spec.version.as_deref().unwrap_or("latest")
}

/// What the note about a replaced version range says.
fn replaced_range_note(plugin: &Plugin, version: &str) -> String {
    let (name, namespace, range) = (plugin.name(), plugin.namespace(), range(plugin));
    format!(
        "the version is {version} from now on, it was {range}; \
         `outrigger plugin upgrade {name} -n {namespace} --version VERSION` changes it"
    )
}

/// Whether the deployed revision has the version and values of the spec.
fn is_deployed(plugin: &Plugin) -> bool {
    let status = plugin.status.as_ref();
    let installed = status.and_then(|status| status.installed_generation);
    installed.is_some() && installed == plugin.metadata.generation
}

/// Makes the controller record the change as a rollback. The change of the spec makes the next generation.
fn annotate_rollback(plugin: &mut Plugin, revision: u32) {
    let generation = plugin.metadata.generation.unwrap_or_default() + 1;
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(ROLLBACK.to_owned(), format!("{revision}@{generation}"));
}

/// The last revision before the current one that was deployed. If the spec could not be deployed, and left no revision,
/// the last one is an earlier one.
fn last_successful(history: &[Revision], is_deployed: bool) -> Option<u32> {
    let (last, earlier) = history.split_last()?;
    let is_successful =
        |revision: &&Revision| matches!(revision.status, Status::Superseded | Status::Deployed);
    if !is_deployed && is_successful(&last) {
        return Some(last.revision);
    }
    earlier
        .iter()
        .rev()
        .find(is_successful)
        .map(|revision| revision.revision)
}

/// Restores version and values. A version range that selects the version of the record is kept. The values of a record include those from Secrets; if the plugin has `valuesFrom`, only
/// values that its spec sets now are restored, so that no secret gets into the spec.
fn restore(plugin: &mut Plugin, record: &Record, is_range_kept: bool) {
    if !is_range_kept {
        plugin.spec.version = Some(record.chart.summary().version.clone());
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
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    /// The hint named `plugin set --version`, which does not exist.
    #[test]
    fn the_note_about_the_version_names_a_command_that_exists() {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": "web", "namespace": "tools"}, "spec": {},
        });
        let note = replaced_range_note(&serde_json::from_value(plugin).unwrap(), "1.2.0");
        let command = note.split('`').nth(1).unwrap();
        let parsed = crate::arguments::Arguments::try_parse_from(command.split(' '));
        assert!(parsed.is_ok(), "{note}: {parsed:?}");
    }

    #[test]
    fn a_rollback_from_a_spec_that_was_never_deployed_returns_to_the_deployed_revision() {
        let revision = |revision: u32, status: Status| Revision {
            revision,
            updated: None,
            status,
            chart: ChartSummary::default(),
            description: String::new(),
        };
        let history = [
            revision(1, Status::Superseded),
            revision(2, Status::Deployed),
        ];
        assert_eq!(last_successful(&history, false), Some(2));
        assert_eq!(last_successful(&history, true), Some(1));
        let failed = [revision(1, Status::Deployed), revision(2, Status::Failed)];
        assert_eq!(last_successful(&failed, false), Some(1));
    }

    #[test]
    fn a_revision_of_another_chart_is_named_with_its_chart() {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "m"},
            "spec": {"repo": "file:///charts/storage"},
        });
        let chart = ChartSummary {
            name: "metrics".to_owned(),
            version: "0.7.1".to_owned(),
            ..ChartSummary::default()
        };
        assert_eq!(
            not_in_source(&serde_json::from_value(plugin).unwrap(), 1, &chart),
            "revision 1 cannot be restored: it was installed from chart metrics 0.7.1, which is not in \
             file:///charts/storage, the current source of plugin m"
        );
    }

    /// Helm allows it too, but only because it was asked for by number.
    #[test]
    fn a_rollback_to_a_failed_revision_has_a_note() {
        assert_eq!(failed_note(2, Status::Deployed), None);
        let note = failed_note(2, Status::Failed).unwrap();
        assert!(note.starts_with("revision 2 failed"), "{note}");
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
