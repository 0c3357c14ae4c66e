//! `outrigger cluster status`: prints clusters, or the steps of one cluster and its machines.

use kube::ResourceExt as _;
use kube::api::ListParams;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::Condition;
use serde::Serialize;

use super::watch::Watch;
use super::{clusters, explain, machines};
use crate::arguments::OutputFlag;
use crate::commands::plugin::connect::ClusterFlags;
use crate::printer::{Color, Printer, Row};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster [default: all clusters]
    name: Option<String>,
    /// Show the steps as they run, until the cluster is Running or Failed
    #[arg(short, long, requires = "name")]
    watch: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// A cluster in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterRow {
    name: String,
    phase: ClusterPhase,
    version: String,
    step: String,
    machines: String,
    message: String,
}

impl Row for ClusterRow {
    const HEADERS: &'static [&'static str] =
        &["NAME", "PHASE", "VERSION", "STEP", "MACHINES", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            format!("{:?}", self.phase),
            self.version.clone(),
            self.step.clone(),
            self.machines.clone(),
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

/// Returns whether the cluster that was watched is Running.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<bool> {
    let connection = args.cluster.connect().await?;
    let api = clusters(&connection);
    let Some(name) = &args.name else {
        let list = api.list(&ListParams::default()).await;
        let list = list.map_err(|error| explain(&error, None))?;
        let rows: Vec<ClusterRow> = list.items.iter().map(cluster_row).collect();
        printer.list(args.output.output, &rows)?;
        return Ok(true);
    };
    let cluster = api.get(name).await;
    let cluster = cluster.map_err(|error| explain(&error, Some(name)))?;
    if args.watch {
        return Watch::new(&connection.client, [name.clone()])
            .until_idle()
            .await;
    }
    let mut rows = steps("cluster", &cluster.status.unwrap_or_default().conditions);
    for machine in machines(&connection, name).await? {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        rows.extend(steps(&machine.name_any(), &conditions));
    }
    printer.list(args.output.output, &rows)?;
    Ok(true)
}

fn cluster_row(cluster: &Cluster) -> ClusterRow {
    let status = cluster.status.clone().unwrap_or_default();
    let counts = status.machines.iter();
    let counts: Vec<String> = counts.map(|(phase, n)| format!("{n} {phase}")).collect();
    ClusterRow {
        name: cluster.name_any(),
        phase: status.phase,
        version: status.version.unwrap_or_else(|| "-".to_owned()),
        step: status
            .flow
            .and_then(|flow| flow.step)
            .unwrap_or_else(|| "-".to_owned()),
        machines: counts.join(", "),
        message: status.message,
    }
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
