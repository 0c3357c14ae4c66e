//! `outrigger cluster status`: prints clusters, or the state and the steps of one cluster and its machines.

use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::condition::Condition;
use outrigger_cluster::status::ACCEPTED;
use serde::Serialize;

use super::row::{ClusterRow, cluster_row};
use super::watch::Watch;
use super::{clusters, edit, explain, machines};
use crate::age;
use crate::arguments::{Output, WideOutput, WideOutputFlag};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::printer::{Color, Field, Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster status
  outrigger cluster status -o wide
  outrigger cluster status cls-1 --watch
  outrigger cluster status cls-1 -o json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster [default: all clusters]
    name: Option<String>,
    /// Show the steps as they run, until the cluster is Running, Failed or deleted
    #[arg(short, long, requires = "name")]
    watch: bool,
    #[command(flatten)]
    cluster: ServerFlags,
    #[command(flatten)]
    output: WideOutputFlag,
}

impl Row for ClusterRow {
    const HEADERS: &'static [&'static str] =
        &["NAME", "PHASE", "VERSION", "STEP", "MACHINES", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            format!("{:?}", self.phase),
            self.version(),
            self.step.clone().unwrap_or_else(|| "-".to_owned()),
            self.machines(),
            self.message.clone(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        (column == 1).then(|| self.phase_color())
    }
}

/// A cluster in a list with more columns.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct WideClusterRow(ClusterRow);

impl Row for WideClusterRow {
    const HEADERS: &'static [&'static str] = &[
        "NAME", "PHASE", "VERSION", "STEP", "MACHINES", "FLOW", "PROVIDER", "ORIGIN", "AGE",
        "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.0.cells();
        let message = cells.pop().unwrap_or_default();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        cells.extend([
            or_dash(self.0.flow.clone()),
            self.0.provider.clone(),
            or_dash(self.0.origin.clone()),
            age::since_text(self.0.created.as_deref()),
            message,
        ]);
        cells
    }

    fn color(&self, column: usize) -> Option<Color> {
        self.0.color(column)
    }
}

/// A step of a cluster or machine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepRow {
    target: String,
    step: String,
    state: String,
    message: String,
    /// When the state changed.
    since: String,
}

impl Row for StepRow {
    const HEADERS: &'static [&'static str] = &["ON", "STEP", "STATE", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.target.clone(),
            self.step.clone(),
            self.state.clone(),
            self.message.clone(),
        ]
    }
}

/// A step with the time since its state changed.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct WideStepRow(StepRow);

impl Row for WideStepRow {
    const HEADERS: &'static [&'static str] = &["ON", "STEP", "STATE", "AGE", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.0.cells();
        let message = cells.pop().unwrap_or_default();
        cells.extend([age::since_text(Some(&self.0.since)), message]);
        cells
    }
}

/// One cluster with its steps.
#[derive(Debug, Serialize)]
struct ClusterDetails {
    #[serde(flatten)]
    cluster: ClusterRow,
    steps: Vec<StepRow>,
}

/// Returns whether the cluster that was watched is Running, or deleted as requested.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<bool> {
    let connection = args.cluster.connect().await?;
    let (output, format) = (args.output.output, args.output.output.format());
    let Some(name) = &args.name else {
        list(&connection, output, printer).await?;
        return Ok(true);
    };
    let mut cluster = edit::get(&connection, name).await?;
    let mut is_successful = true;
    if args.watch {
        let mut watch = Watch::new(&connection.client, [name.clone()]);
        is_successful = watch.until_idle().await?;
        if format == Output::Table {
            return Ok(is_successful);
        }
        let current = clusters(&connection).get_opt(name).await;
        match current.map_err(|error| explain(&error, Some(name)))? {
            Some(current) => cluster = current,
            None => return Ok(is_successful),
        }
    }
    let mut steps = steps(
        "cluster",
        &cluster.status.clone().unwrap_or_default().conditions,
    );
    for machine in machines(&connection, name).await? {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        steps.extend(self::steps(&machine.name_any(), &conditions));
    }
    let cluster = cluster_row(&cluster);
    if format == Output::Table {
        printer.fields(&summary(&cluster))?;
        printer.line("")?;
        if output == WideOutput::Wide {
            let steps: Vec<WideStepRow> = steps.into_iter().map(WideStepRow).collect();
            printer.list(format, &steps)?;
        } else {
            printer.list(format, &steps)?;
        }
    } else {
        printer.value(format, &ClusterDetails { cluster, steps })?;
    }
    Ok(is_successful)
}

async fn list(
    connection: &Connection,
    output: WideOutput,
    printer: &Printer,
) -> anyhow::Result<()> {
    let list = clusters(connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?;
    let rows: Vec<ClusterRow> = list.items.iter().map(cluster_row).collect();
    let format = output.format();
    if rows.is_empty() && format == Output::Table {
        note("there are no clusters");
        return Ok(());
    }
    if output == WideOutput::Wide {
        let rows: Vec<WideClusterRow> = rows.into_iter().map(WideClusterRow).collect();
        return printer.list(format, &rows);
    }
    printer.list(format, &rows)
}

/// The state of a cluster above the table of its steps.
fn summary(cluster: &ClusterRow) -> [Field; 6] {
    [
        Field::new("Name", &cluster.name),
        Field::new("Origin", cluster.origin.as_deref().unwrap_or_default()),
        Field::new("Phase", format!("{:?}", cluster.phase)),
        Field::new("Version", cluster.version()),
        Field::new("Machines", cluster.machines()),
        Field::new("Message", &cluster.message),
    ]
}

fn steps(target: &str, conditions: &[Condition]) -> Vec<StepRow> {
    let row = |condition: &Condition| StepRow {
        target: target.to_owned(),
        step: condition.kind.clone(),
        state: condition.reason.clone(),
        message: condition.message.clone(),
        since: condition.last_transition_time.clone(),
    };
    let steps = conditions.iter().filter(|it| it.kind != ACCEPTED);
    steps.map(row).collect()
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::Cluster;
    use serde_json::json;

    use super::*;
    use crate::printer::details;

    #[test]
    fn the_state_of_one_cluster_has_phase_versions_and_counts() {
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"version": "v1.35.0"},
            "status": {"phase": "Upgrading", "version": "1.34.1", "machines": {"Running": 2, "Upgrading": 1}},
        }))
        .unwrap();
        let row = cluster_row(&cluster);
        assert_eq!(
            details(&summary(&row), false),
            "Name      a\nPhase     Upgrading\nVersion   1.34.1 -> 1.35.0\nMachines  2 Running, 1 Upgrading\n"
        );
        let value = serde_json::to_value(&row).unwrap();
        assert_eq!(value["targetVersion"], "1.35.0");
        assert_eq!(value["machines"]["Running"], 2);
        assert_eq!(value["step"], json!(null));
        let wide = WideClusterRow(row);
        let cells = wide.cells();
        assert_eq!(cells.len(), WideClusterRow::HEADERS.len());
        assert_eq!(cells[5..9], ["-", "stand-in", "-", "-"]);
    }

    #[test]
    fn whether_a_spec_is_accepted_is_not_a_step() {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "", "lastTransitionTime": ""});
        let conditions = json!([condition("Accepted"), condition("EnsurePreflight")]);
        let conditions: Vec<Condition> = serde_json::from_value(conditions).unwrap();
        let steps = steps("cluster", &conditions);
        let steps: Vec<&str> = steps.iter().map(|step| &*step.step).collect();
        assert_eq!(steps, ["EnsurePreflight"]);
    }
}
