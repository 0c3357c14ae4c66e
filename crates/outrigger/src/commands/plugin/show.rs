//! `outrigger plugin show`: prints the details of one plugin.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use outrigger_api::annotation::SUSPEND;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::plugin::{Phase, Plugin, ValuesKind};
use outrigger_api::reason::Reason;
use serde_json::Value;

use super::connect::Connection;
use super::dependents;
use super::list::{installed_version, phase_color, phase_text};
use super::origin::Origin;
use super::read_args::ReadArgs;
use super::release;
use crate::age;
use crate::arguments::Output;
use crate::printable;
use crate::printer::{Field, Printer};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin show monitoring
  outrigger plugin show monitoring -o yaml";

/// The conditions of the steps of an installation, in their order. Ready, which sums them up, and Removable come first.
const STEPS: &[&str] = &[
    "DependenciesReady",
    "Fetched",
    "Rendered",
    "Applied",
    "Healthy",
];

/// How long the cluster of the release may take to list its revisions.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The newest events that are printed.
const MAX_EVENTS: usize = 10;

pub(crate) async fn run(args: &ReadArgs, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let mut plugin = connection.get(&args.name).await?;
    plugin.metadata.managed_fields = None;
    if args.output.output != Output::Table {
        return printer.value(args.output.output, &plugin);
    }
    let all = connection.all().await?;
    let dependents = dependents::direct(&all, plugin.namespace(), plugin.name());
    let events = events(&connection, &plugin).await;
    let revision = revision(&connection, &plugin).await;
    let dependents = dependents::names(&dependents);
    printer.fields(&fields(&plugin, &dependents, revision.unwrap_or_default()))?;
    printer.text(&sections(&plugin, &events))
}

/// The deployed revision; of a plugin whose first installation failed, the last one with its status.
async fn revision(connection: &Connection, plugin: &Plugin) -> Option<String> {
    let status = plugin.status.as_ref()?;
    if let Some(revision) = status.revision {
        return Some(revision.to_string());
    }
    if status.phase != Phase::Failed || has_foreign_release(plugin) {
        return None;
    }
    let last = async {
        let cluster = release::cluster(connection, plugin).await.ok()?;
        let revisions = outrigger_release::list_revisions(&cluster, &release::id(plugin)).await;
        revisions.ok()?.into_iter().max_by_key(|it| it.revision)
    };
    let last = tokio::time::timeout(READ_TIMEOUT, last).await.ok()??;
    Some(format!("{} ({})", last.revision, last.status))
}

/// Whether the release belongs to another plugin.
fn has_foreign_release(plugin: &Plugin) -> bool {
    let ready = plugin.condition("Ready");
    ready.is_some_and(|ready| ready.has_reason(&[Reason::ReleaseConflict]))
}

/// The events about a plugin, oldest first. None if they cannot be read: they are an addition.
async fn events(connection: &Connection, plugin: &Plugin) -> Vec<Event> {
    let api: Api<Event> = Api::namespaced(connection.client.clone(), plugin.namespace());
    let list = api.list(&ListParams::default()).await;
    let mut events = list.map(|list| list.items).unwrap_or_default();
    let uid = plugin.uid();
    events.retain(|event| {
        let regarding = event.regarding.as_ref();
        regarding.is_some_and(|regarding| regarding.uid.is_some() && regarding.uid == uid)
    });
    events.sort_by_key(last_seen);
    let surplus = events.len().saturating_sub(MAX_EVENTS);
    events.split_off(surplus)
}

fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref();
    let last = series.map(|series| series.last_observed_time.0);
    last.or_else(|| event.event_time.as_ref().map(|time| time.0))
}

/// What follows the fields.
fn sections(plugin: &Plugin, events: &[Event]) -> String {
    let mut text = conditions(plugin);
    text.push_str(&values(plugin));
    text.push_str(&objects(plugin));
    text.push_str(&event_lines(events));
    let status = plugin.status.as_ref();
    if let Some(notes) = status.and_then(|status| status.notes.as_deref()) {
        text.push_str(&format!("\nNotes:\n{}\n", notes.trim_end()));
    }
    text
}

fn fields(plugin: &Plugin, dependents: &str, revision: String) -> Vec<Field> {
    let spec = &plugin.spec;
    let status = plugin.status.clone().unwrap_or_default();
    let release = format!("{}/{}", plugin.release_namespace(), plugin.release_name());
    let dependencies = spec.dependencies.iter().map(|dependency| {
        let (namespace, name) = plugin.resolve_dependency(dependency);
        let range = dependency.version.as_deref().unwrap_or_default();
        format!("{namespace}/{name} {range}").trim_end().to_owned()
    });
    let cluster = spec.cluster.as_ref().map(|reference| {
        let name = reference.name.clone();
        name.unwrap_or_else(|| reference.to_string())
    });
    let requested = spec.version.clone().unwrap_or_else(|| "latest".to_owned());
    let kind = serde_json::to_value(spec.kind).unwrap_or_default();
    let deleted = plugin.metadata.deletion_timestamp.as_ref();
    let deleted = deleted.map(|time| time.0.to_string());
    let created = plugin.creation_timestamp().map(|time| time.0.to_string());
    let origin = Origin::of(plugin).map(|origin| origin.to_string());
    let parent = parent(plugin);
    let suspended = if plugin.is_annotated(SUSPEND) {
        "true"
    } else {
        ""
    };
    vec![
        Field::new("Name", format!("{}/{}", plugin.namespace(), plugin.name())),
        Field::new("Phase", phase_text(plugin)).color(phase_color(plugin.phase())),
        Field::new(
            "Created",
            created.map(|time| with_age(&time)).unwrap_or_default(),
        ),
        Field::new(
            "Deleted",
            deleted.map(|time| with_age(&time)).unwrap_or_default(),
        ),
        Field::new("Origin", origin.or(parent).unwrap_or_default()),
        Field::new("Enabled", spec.enabled.to_string()),
        Field::new("Suspended", suspended.to_owned()),
        Field::new("Kind", kind.as_str().unwrap_or_default().to_owned()),
        Field::new("Repository", spec.repo.clone().unwrap_or_default()),
        Field::new(
            "Chart",
            status
                .chart
                .or_else(|| spec.chart.clone())
                .unwrap_or_default(),
        ),
        Field::new("Requested", requested),
        Field::new(
            "Version",
            installed_version(plugin).unwrap_or_default().to_owned(),
        ),
        Field::new("App version", status.app_version.unwrap_or_default()),
        Field::new("Cluster", cluster.unwrap_or_default()),
        Field::new("Release", release),
        Field::new("Revision", revision),
        Field::new("Dependencies", dependencies.collect::<Vec<_>>().join(", ")),
        Field::new("Dependents", dependents.to_owned()),
    ]
}

/// The release that a plugin is an object of.
fn parent(plugin: &Plugin) -> Option<String> {
    let annotations = plugin.annotations();
    let name = annotations.get("meta.helm.sh/release-name")?;
    let namespace = annotations.get("meta.helm.sh/release-namespace")?;
    Some(format!("release {namespace}/{name}"))
}

fn with_age(time: &str) -> String {
    format!("{time} ({} ago)", age::since_text(Some(time)))
}

fn conditions(plugin: &Plugin) -> String {
    let status = plugin.status.as_ref();
    let conditions = status.map(|status| status.conditions.as_slice());
    let mut conditions: Vec<&Condition> = conditions.unwrap_or_default().iter().collect();
    if conditions.is_empty() {
        return String::new();
    }
    let position = |condition: &&Condition| STEPS.iter().position(|step| *step == condition.kind);
    conditions.sort_by_key(position);
    let mut text = "\nConditions:\n".to_owned();
    for condition in conditions {
        let status = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        let age = age::since_text(Some(&condition.last_transition_time));
        let line = format!(
            "  {:<20}{status:<8}{age:<8}{:<19} {}",
            condition.kind,
            condition.reason,
            indented(&condition.message)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Aligns the further lines of a message below the first.
fn indented(message: &str) -> String {
    message.trim_end().replace('\n', &format!("\n{:58}", ""))
}

/// The values of the spec, and where further values come from. Values of Secrets are not shown.
fn values(plugin: &Plugin) -> String {
    let spec = &plugin.spec;
    let mut text = String::new();
    for from in &spec.values_from {
        let kind = match from.kind {
            ValuesKind::ConfigMap => "ConfigMap",
            ValuesKind::Secret => "Secret",
        };
        let key = from.key.as_ref().map(|key| format!(" key {key}"));
        let hidden = match from.kind {
            ValuesKind::ConfigMap => "",
            ValuesKind::Secret => " (not shown)",
        };
        text.push_str(&format!(
            "  from {kind} {}{}{hidden}\n",
            from.name,
            key.unwrap_or_default()
        ));
    }
    if !spec.values.is_empty() {
        let yaml = outrigger_goyaml::write_json(&Value::Object(spec.values.clone()));
        let yaml = String::from_utf8_lossy(&yaml).into_owned();
        text.extend(yaml.lines().map(|line| format!("  {line}\n")));
    }
    if text.is_empty() {
        return text;
    }
    format!("\nValues:\n{text}")
}

fn objects(plugin: &Plugin) -> String {
    let status = plugin.status.as_ref();
    let inventory = status.map(|status| status.inventory.as_slice());
    let inventory = inventory.unwrap_or_default();
    if inventory.is_empty() {
        return String::new();
    }
    let mut text = "\nObjects:\n".to_owned();
    for entry in inventory {
        let name = match &entry.namespace {
            Some(namespace) => format!("{namespace}/{}", entry.name),
            None => entry.name.clone(),
        };
        let policy = if entry.keep { " (keep)" } else { "" };
        text.push_str(&format!("  {} {name}{policy}\n", entry.kind));
    }
    text
}

fn event_lines(events: &[Event]) -> String {
    if events.is_empty() {
        return String::new();
    }
    let mut text = "\nEvents:\n".to_owned();
    for event in events {
        let age = last_seen(event).map(|time| age::since(time, Timestamp::now()));
        let count = event.series.as_ref().map_or(1, |series| series.count);
        let times = match count {
            1 => String::new(),
            count => format!(" (x{count})"),
        };
        let line = format!(
            "  {:<8}{:<9}{:<17} {}{times}",
            age.unwrap_or_default(),
            event.type_.as_deref().unwrap_or_default(),
            event.reason.as_deref().unwrap_or_default(),
            printable::joined(event.note.as_deref().unwrap_or_default())
        );
        text.push_str(line.replace('\n', " ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_in_the_order_of_the_steps_after_their_sum() {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "A", "lastTransitionTime": ""});
        let kinds = ["Fetched", "Ready", "Healthy", "Applied", "Rendered"];
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"}, "spec": {},
            "status": {"conditions": kinds.map(condition)},
        });
        let text = conditions(&serde_json::from_value(plugin).unwrap());
        let printed = text
            .lines()
            .skip(2)
            .filter_map(|line| line.split_whitespace().next());
        let expected = ["Ready", "Fetched", "Rendered", "Applied", "Healthy"];
        assert_eq!(printed.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_revision_of_another_plugin_is_not_shown() {
        let plugin = |reason: &str| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"}, "spec": {},
                "status": {"phase": "Failed", "conditions": [{
                    "type": "Ready", "status": "False", "reason": reason, "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            });
            serde_json::from_value::<Plugin>(plugin).unwrap()
        };
        assert!(has_foreign_release(&plugin("ReleaseConflict")));
        assert!(!has_foreign_release(&plugin("ApplyFailed")));
    }

    #[test]
    fn a_long_reason_is_separated_from_its_message() {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"}, "spec": {},
            "status": {"conditions": [{
                "type": "Ready", "status": "False", "reason": "DependencyVersionMismatch", "message": "plugin storage",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        });
        let text = conditions(&serde_json::from_value(plugin).unwrap());
        assert!(
            text.contains("DependencyVersionMismatch plugin storage"),
            "{text}"
        );
    }
}
