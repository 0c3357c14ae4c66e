//! `outrigger plugin show`: prints the details of one plugin.

use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::Plugin;

use super::dependents;
use super::read_args::ReadArgs;
use crate::arguments::Output;
use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin show monitoring
  outrigger plugin show monitoring -o yaml";

pub(crate) async fn run(args: &ReadArgs, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let mut plugin = connection.get(&args.name).await?;
    plugin.metadata.managed_fields = None;
    if args.output.output != Output::Table {
        return printer.value(args.output.output, &plugin);
    }
    let all = connection.all().await?;
    let dependents = dependents::direct(&all, plugin.namespace(), plugin.name());
    printer.bytes(text(&plugin, &dependents::names(&dependents)).as_bytes())
}

fn text(plugin: &Plugin, dependents: &str) -> String {
    let mut text = String::new();
    for (label, value) in fields(plugin, dependents) {
        if !value.is_empty() {
            text.push_str(&format!("{label:<14}{value}\n"));
        }
    }
    text.push_str(&conditions(plugin));
    text.push_str(&objects(plugin));
    if let Some(notes) = plugin
        .status
        .as_ref()
        .and_then(|status| status.notes.as_deref())
    {
        text.push_str(&format!("\nNotes:\n{}\n", notes.trim_end()));
    }
    text
}

fn fields(plugin: &Plugin, dependents: &str) -> Vec<(&'static str, String)> {
    let spec = &plugin.spec;
    let status = plugin.status.clone().unwrap_or_default();
    let release = format!("{}/{}", plugin.release_namespace(), plugin.release_name());
    let dependencies = spec.dependencies.iter().map(|dependency| {
        let (namespace, name) = plugin.resolve_dependency(dependency);
        let range = dependency.version.as_deref().unwrap_or_default();
        format!("{namespace}/{name} {range}").trim_end().to_owned()
    });
    let desired = spec.version.clone().unwrap_or_else(|| "latest".to_owned());
    let kind = serde_json::to_value(spec.kind).unwrap_or_default();
    vec![
        ("Name", format!("{}/{}", plugin.namespace(), plugin.name())),
        ("Phase", format!("{:?}", plugin.phase())),
        ("Enabled", spec.enabled.to_string()),
        ("Kind", kind.as_str().unwrap_or_default().to_owned()),
        ("Repository", spec.repo.clone().unwrap_or_default()),
        ("Chart", plugin.chart_name().to_owned()),
        ("Desired", desired),
        ("Version", status.version.unwrap_or_default()),
        ("App version", status.app_version.unwrap_or_default()),
        ("Release", release),
        (
            "Revision",
            status.revision.map(|n| n.to_string()).unwrap_or_default(),
        ),
        ("Dependencies", dependencies.collect::<Vec<_>>().join(", ")),
        ("Dependents", dependents.to_owned()),
    ]
}

fn conditions(plugin: &Plugin) -> String {
    let conditions = plugin
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice());
    let conditions = conditions.unwrap_or_default();
    if conditions.is_empty() {
        return String::new();
    }
    let mut text = "\nConditions:\n".to_owned();
    for condition in conditions {
        let status = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        let line = format!(
            "  {:<20}{status:<8}{:<20}{}",
            condition.kind, condition.reason, condition.message
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn objects(plugin: &Plugin) -> String {
    let inventory = plugin
        .status
        .as_ref()
        .map(|status| status.inventory.as_slice());
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
