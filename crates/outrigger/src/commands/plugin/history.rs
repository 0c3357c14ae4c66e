//! `outrigger plugin history`: lists the revisions of the release of a plugin.

use outrigger_release::Revision;
use serde::Serialize;

use super::connect::ClusterFlags;
use super::release;
use crate::arguments::OutputFlag;
use crate::printer::{Printer, Row};
use crate::report::HintExt as _;

const EXAMPLES: &str = "\
Examples:
  outrigger plugin history monitoring";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the plugin
    name: String,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

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
            revision.updated.clone().unwrap_or_else(|| "-".to_owned()),
            revision.status.to_string(),
            format!("{}-{}", revision.chart.name, revision.chart.version),
            revision.chart.app_version.clone(),
            revision.description.clone(),
        ]
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.cluster.connect().await?;
    let plugin = connection.get(&args.name).await?;
    let cluster = release::cluster(&connection, &plugin).await?;
    let id = release::id(&plugin);
    let revisions = outrigger_release::list_revisions(&cluster, &id).await?;
    if revisions.is_empty() {
        return Err(anyhow::anyhow!("plugin {} was never installed", args.name))
            .hint("outrigger plugin show NAME shows its conditions");
    }
    let rows: Vec<RevisionRow> = revisions.into_iter().map(RevisionRow).collect();
    printer.list(args.output.output, &rows)
}
