//! `outrigger cluster status`: prints clusters, or the state and the steps of one cluster and its machines.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::Condition;
use outrigger_cluster::lifecycle;
use serde::Serialize;

use super::watch::Watch;
use super::{clusters, edit, explain, machines};
use crate::arguments::{Output, OutputFlag};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::commands::plugin::origin::Origin;
use crate::printer::{Color, Field, Printer, Row};
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger cluster status
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
    output: OutputFlag,
}

/// A cluster in a list.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterRow {
    name: String,
    phase: ClusterPhase,
    /// The installed version.
    version: Option<String>,
    /// The version of the spec.
    target_version: Option<String>,
    /// The object that the cluster mirrors.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    step: Option<String>,
    /// How many machines are in which phase.
    machines: BTreeMap<String, u32>,
    message: String,
}

impl ClusterRow {
    fn machines(&self) -> String {
        let counts = self.machines.iter();
        let counts: Vec<String> = counts.map(|(phase, n)| format!("{n} {phase}")).collect();
        counts.join(", ")
    }

    /// The installed version, and the one that it is on the way to.
    fn version(&self) -> String {
        let installed = self.version.as_deref().unwrap_or("-");
        match &self.target_version {
            Some(target) if self.version.as_ref() != Some(target) => {
                format!("{installed} -> {target}")
            }
            _ => installed.to_owned(),
        }
    }
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
        (column == 1).then_some(match self.phase {
            ClusterPhase::Running => Color::Green,
            ClusterPhase::Failed => Color::Red,
            _ => Color::Yellow,
        })
    }
}

/// A step of a cluster or machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StepRow {
    target: String,
    step: String,
    state: String,
    message: String,
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
    let format = args.output.output;
    let Some(name) = &args.name else {
        list(&connection, format, printer).await?;
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
        printer.list(format, &steps)?;
    } else {
        printer.value(format, &ClusterDetails { cluster, steps })?;
    }
    Ok(is_successful)
}

async fn list(connection: &Connection, format: Output, printer: &Printer) -> anyhow::Result<()> {
    let list = clusters(connection).list(&ListParams::default()).await;
    let list = list.map_err(|error| explain(&error, None))?;
    let rows: Vec<ClusterRow> = list.items.iter().map(cluster_row).collect();
    if rows.is_empty() && format == Output::Table {
        note("there are no clusters");
        return Ok(());
    }
    printer.list(format, &rows)
}

fn cluster_row(cluster: &Cluster) -> ClusterRow {
    let status = cluster.status.clone().unwrap_or_default();
    let target = lifecycle::desired_version(cluster).to_owned();
    ClusterRow {
        name: cluster.name_any(),
        phase: status.phase,
        version: status.version,
        target_version: Some(target).filter(|version| !version.is_empty()),
        origin: Origin::of(cluster).map(|origin| origin.to_string()),
        step: status.flow.and_then(|flow| flow.step),
        machines: status.machines,
        message: status.message,
    }
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
    };
    conditions.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
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
    }
}
