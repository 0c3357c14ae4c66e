//! `outrigger plugin history`: lists the revisions of the release of a plugin.

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
            format!("{}-{}", revision.chart.name, revision.chart.version),
            revision.chart.app_version.clone(),
            revision.description.clone(),
        ]
    }
}

/// A time without its fraction of a second.
fn in_seconds(time: &str) -> String {
    match (time.split_once('.'), time.ends_with('Z')) {
        (Some((seconds, _)), true) => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

pub(crate) async fn run(args: &ReadArgs, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let plugin = connection.get(&args.name).await?;
    let cluster = release::cluster(&connection, &plugin).await?;
    let id = release::id(&plugin);
    let revisions = outrigger_release::list_revisions(&cluster, &id).await?;
    if revisions.is_empty() {
        return Err(anyhow::anyhow!("plugin {} was never installed", args.name)).hint(format!(
            "outrigger plugin show {} shows its conditions",
            args.name
        ));
    }
    let rows: Vec<RevisionRow> = revisions.into_iter().map(RevisionRow).collect();
    printer.list(args.output.output, &rows)
}
