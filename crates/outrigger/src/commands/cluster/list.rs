//! `outrigger cluster list`: lists clusters.

use kube::api::ListParams;
use serde::Serialize;

use super::row::{ClusterRow, cluster_row};
use super::{clusters, explain};
use crate::age;
use crate::arguments::{Output, WideOutput, WideOutputFlag};
use crate::commands::plugin::connect::ServerFlags;
use crate::printer::{Color, Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster list
  outrigger cluster list -o wide
  outrigger cluster list -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    output: WideOutputFlag,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct ListRow(ClusterRow);

impl Row for ListRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME", "TYPE", "VERSION", "PHASE", "MACHINES", "AGE", "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        let row = &self.0;
        vec![
            row.name.clone(),
            format!("{:?}", row.kind),
            row.version(),
            format!("{:?}", row.phase),
            or_dash(Some(row.machines())),
            age::since_text(row.created.as_deref()),
            row.message.clone(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 3).then(|| self.0.phase_color())
    }
}

/// A row with the flow and the provider.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct WideRow(ListRow);

impl Row for WideRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME", "TYPE", "VERSION", "PHASE", "MACHINES", "AGE", "FLOW", "STEP", "PROVIDER",
        "ORIGIN", "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.0.cells();
        let message = cells.pop().unwrap_or_default();
        let row = &self.0.0;
        cells.extend([
            or_dash(row.flow.clone()),
            or_dash(row.step.clone()),
            or_dash(Some(row.provider.clone())),
            or_dash(row.origin.clone()),
            message,
        ]);
        cells
    }

    fn color(&self, column: usize) -> Option<Color> {
        self.0.color(column)
    }
}

fn or_dash(text: Option<String>) -> String {
    let text = text.filter(|text| !text.is_empty());
    text.unwrap_or_else(|| "-".to_owned())
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.server.connect().await?;
    let list = clusters(&connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?;
    let rows = list.items.iter().map(cluster_row).map(ListRow);
    let format = args.output.output.format();
    if list.items.is_empty() && format == Output::Table {
        note("there are no clusters");
        return Ok(());
    }
    if args.output.output == WideOutput::Wide {
        return printer.list(format, &rows.map(WideRow).collect::<Vec<_>>());
    }
    printer.list(format, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_have_the_type_and_the_age_and_wide_ones_the_flow() {
        let cluster = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"version": "v1.35.0"},
            "status": {
                "phase": "Upgrading", "version": "1.34.1", "machines": {"Running": 2}, "message": "m",
                "flow": {"name": "Upgrade", "run": "2-Upgrade-1.35.0", "step": "EnsureKubelet"},
            },
        });
        let row = || {
            ListRow(cluster_row(
                &serde_json::from_value(cluster.clone()).unwrap(),
            ))
        };
        let cells = [
            "a",
            "Baremetal",
            "1.34.1 -> 1.35.0",
            "Upgrading",
            "2 Running",
            "-",
            "m",
        ];
        assert_eq!(row().cells(), cells);
        let wide = WideRow(row());
        assert_eq!(wide.cells().len(), WideRow::HEADERS.len());
        let cells = ["Upgrade", "EnsureKubelet", "stand-in", "-", "m"];
        assert_eq!(wide.cells()[6..], cells);
        assert_eq!(serde_json::to_value(wide).unwrap()["type"], "Baremetal");
    }
}
