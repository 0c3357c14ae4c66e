//! `outrigger plugin list`: lists plugins and their phases.

use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::plugin::{Phase, Plugin};
use serde::Serialize;

use super::connect::{ClusterFlags, explain};
use super::origin::Origin;
use crate::age;
use crate::arguments::{Output, WideOutput, WideOutputFlag};
use crate::printer::{Color, Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin list
  outrigger plugin list -A -o wide
  outrigger plugin list -A -l team=core -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List the plugins of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Label selector
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: WideOutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct PluginRow(Plugin);

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct WideRow(Plugin);

impl Row for PluginRow {
    const HEADERS: &'static [&'static str] =
        &["NAMESPACE", "NAME", "PHASE", "VERSION", "AGE", "MESSAGE"];
    const IS_CUT: bool = true;

    fn cells(&self) -> Vec<String> {
        let plugin = &self.0;
        vec![
            plugin.namespace().to_owned(),
            plugin.name().to_owned(),
            phase_text(plugin),
            version(plugin),
            plugin_age(plugin),
            message(plugin).to_owned(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 2).then(|| phase_color(self.0.phase()))
    }
}

impl Row for WideRow {
    const HEADERS: &'static [&'static str] = &[
        "NAMESPACE",
        "NAME",
        "PHASE",
        "VERSION",
        "APP VERSION",
        "RELEASE",
        "REVISION",
        "ORIGIN",
        "AGE",
        "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        let plugin = &self.0;
        let status = plugin.status.clone().unwrap_or_default();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            plugin.namespace().to_owned(),
            plugin.name().to_owned(),
            phase_text(plugin),
            version(plugin),
            or_dash(status.app_version),
            format!("{}/{}", plugin.release_namespace(), plugin.release_name()),
            or_dash(status.revision.map(|revision| revision.to_string())),
            or_dash(Origin::of(plugin).map(|origin| origin.to_string())),
            plugin_age(plugin),
            message(plugin).to_owned(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 2).then(|| phase_color(self.0.phase()))
    }
}

fn version(plugin: &Plugin) -> String {
    installed_version(plugin).unwrap_or("-").to_owned()
}

/// The version of the installed chart. The status also has that of a first installation which failed.
pub(super) fn installed_version(plugin: &Plugin) -> Option<&str> {
    let status = plugin.status.as_ref()?;
    status.revision.and(status.version.as_deref())
}

fn plugin_age(plugin: &Plugin) -> String {
    let created = plugin.creation_timestamp();
    age::since_text(created.map(|time| time.0.to_string()).as_deref())
}

fn message(plugin: &Plugin) -> &str {
    let ready = plugin.condition("Ready");
    ready.map_or("", |ready| &ready.message)
}

/// The phase; as in kubectl, a plugin whose deletion was requested is terminating.
pub(super) fn phase_text(plugin: &Plugin) -> String {
    match plugin.metadata.deletion_timestamp {
        Some(_) => "Terminating".to_owned(),
        None => format!("{:?}", plugin.phase()),
    }
}

/// Green is done, red needs help, yellow is on its way.
pub(super) fn phase_color(phase: Phase) -> Color {
    match phase {
        Phase::Ready => Color::Green,
        Phase::Failed | Phase::Degraded => Color::Red,
        Phase::Disabled => Color::Dim,
        Phase::Pending
        | Phase::Waiting
        | Phase::Installing
        | Phase::Upgrading
        | Phase::Removing => Color::Yellow,
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let api = if args.all_namespaces {
        kube::Api::all(connection.client.clone())
    } else {
        connection.plugins()
    };
    let parameters = ListParams {
        label_selector: args.selector.clone(),
        ..ListParams::default()
    };
    let list = api
        .list(&parameters)
        .await
        .map_err(|error| explain(&error, None))?;
    let mut plugins = list.items;
    for plugin in &mut plugins {
        plugin.metadata.managed_fields = None;
    }
    plugins.sort_by_key(super::progress::key);
    let rows = || plugins.iter().cloned();
    let (output, format) = (args.output.output, args.output.output.format());
    if plugins.is_empty() && format == Output::Table {
        let scope = if args.all_namespaces {
            "in the cluster".to_owned()
        } else {
            format!("in namespace {}; -A lists all", connection.namespace)
        };
        note(&format!("no plugins {scope}"));
        return Ok(());
    }
    if output == WideOutput::Wide {
        return printer.list(format, &rows().map(WideRow).collect::<Vec<_>>());
    }
    printer.list(format, &rows().map(PluginRow).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plugin_that_was_never_installed_has_no_version() {
        let plugin = |revision: Option<i64>| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"}, "spec": {},
                "status": {"phase": "Failed", "version": "1.2.3", "revision": revision},
            });
            serde_json::from_value::<Plugin>(plugin).unwrap()
        };
        assert_eq!(version(&plugin(None)), "-");
        assert_eq!(version(&plugin(Some(1))), "1.2.3");
    }
}
