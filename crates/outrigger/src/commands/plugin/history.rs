//! `outrigger plugin history`: lists the revisions of the release of a plugin.

use anyhow::anyhow;
use outrigger_api::plugin::Plugin;
use outrigger_release::Revision;
use serde::Serialize;

use super::read_args::ReadArgs;
use super::release;
use crate::printer::{Printer, Row};
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger plugin history monitoring";

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct RevisionRow(Revision);

impl Row for RevisionRow {
    const HEADERS: &'static [&'static str] = &[
        "REVISION",
        "UPDATED",
        "STATUS",
        "CHART",
        "APP VERSION",
        "DESCRIPTION",
    ];

    fn cells(&self) -> Vec<String> {
        let revision = &self.0;
        vec![
            revision.revision.to_string(),
            revision
                .updated
                .as_deref()
                .map_or_else(|| "-".to_owned(), in_seconds),
            revision.status.to_string(),
            chart(revision),
            revision.chart.app_version.clone(),
            revision.description.clone(),
        ]
    }
}

/// Name and version of the chart, which are not known of a damaged record.
fn chart(revision: &Revision) -> String {
    let chart = &revision.chart;
    match chart.name.as_str() {
        "" => "-".to_owned(),
        name => format!("{name}-{}", chart.version),
    }
}

/// A time without its fraction of a second.
fn in_seconds(time: &str) -> String {
    match (time.split_once('.'), time.ends_with('Z')) {
        (Some((seconds, _)), true) => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

/// The deployed revision, if it is not in the list.
fn unlisted(plugin: &Plugin, revisions: &[Revision]) -> Option<u32> {
    let revision = plugin.status.as_ref()?.revision?;
    let revision = u32::try_from(revision).ok()?;
    let is_listed = revisions.iter().any(|listed| listed.revision == revision);
    (!is_listed).then_some(revision)
}

/// Why a plugin has no revisions.
pub(super) fn no_revisions(plugin: &Plugin) -> String {
    let name = plugin.name();
    let status = plugin.status.as_ref();
    match status.and_then(|status| status.revision) {
        Some(revision) => {
            format!("plugin {name} has revision {revision}, but its release record was deleted")
        }
        None if !plugin.spec.enabled => {
            format!("plugin {name} is disabled, which removes the release with its revisions")
        }
        None => format!("plugin {name} is not installed yet"),
    }
}

pub(crate) async fn run(args: &ReadArgs, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let plugin = connection.get(&args.name).await?;
    let cluster = release::cluster(&connection, &plugin).await?;
    let id = release::id(&plugin);
    let mut revisions = outrigger_release::list_revisions(&cluster, &id).await?;
    if let Some(unlisted) = unlisted(&plugin, &revisions) {
        let found = outrigger_release::read_unlisted_revision(&cluster, &id, unlisted);
        revisions.extend(found.await?);
    }
    if revisions.is_empty() {
        return Err(anyhow!("{}", no_revisions(&plugin))).hint(format!(
            "outrigger plugin show {} -n {} shows its conditions",
            args.name,
            plugin.namespace()
        ));
    }
    let rows: Vec<RevisionRow> = revisions.into_iter().map(RevisionRow).collect();
    printer.list(args.output.output, &rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plugin_without_revisions_was_not_always_never_installed() {
        let text = |enabled: bool, revision: Option<i64>| {
            let plugin = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"},
                "spec": {"enabled": enabled}, "status": {"phase": "Ready", "revision": revision},
            });
            no_revisions(&serde_json::from_value(plugin).unwrap())
        };
        assert_eq!(text(true, None), "plugin web is not installed yet");
        assert!(text(false, None).contains("is disabled"));
        assert!(text(true, Some(3)).contains("record was deleted"));
    }
}
